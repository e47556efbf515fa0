"""Names in a sentence: few stand all there, of many the first with how many others."""

import pytest

from whichbits.language.language import language
from whichbits.language.phrase import MOST_NAMES, first_of, listed

NAMES = [f"arm-{number}" for number in range(300)]


@pytest.mark.parametrize(
    ("count", "words"), [(1, "arm-0"), (2, "arm-0 and arm-1"), (4, "arm-0, arm-1, arm-2 and arm-3")]
)
def test_few_names_are_listed_as_people_list_them(count: int, words: str) -> None:
    assert listed(NAMES[:count]) == words


def test_no_name_is_left_out_of_as_many_as_people_read() -> None:
    assert listed(NAMES[:MOST_NAMES]).endswith(f"arm-{MOST_NAMES - 2} and arm-{MOST_NAMES - 1}")
    assert first_of("; ", NAMES[:MOST_NAMES]) == "; ".join(NAMES[:MOST_NAMES])


def test_of_very_many_the_first_are_named_and_the_others_counted() -> None:
    told = listed(iter(NAMES))

    assert told.startswith("arm-0, arm-1, ")
    assert told.endswith("arm-11 and 288 others")
    assert first_of("; ", NAMES).endswith("; arm-11 and 288 others")
    assert language("ko").say(told).endswith("arm-11 외 288개")
