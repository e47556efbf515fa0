"""docs/study.md shows the keys of the model, and an example that is a study."""

import re

from tests.docs.pages import page
from whichbits.study.read import parse_study
from whichbits.study.reference import BEGIN, END, reference, refreshed

PAGE = page("study.md")


def test_the_tables_are_current() -> None:
    assert refreshed(PAGE) == PAGE, "run `python -m whichbits.study.reference docs/study.md`"
    assert reference() in PAGE


def test_stale_tables_are_replaced_and_the_prose_around_them_stays() -> None:
    stale = f"before\n{BEGIN}\n| old |\n{END}\nafter\n"

    assert refreshed(stale) == f"before\n{BEGIN}\n\n{reference()}\n\n{END}\nafter\n"


def test_the_example_is_a_study() -> None:
    (example,) = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)

    assert parse_study(example, "the example").arms["w4a16"].engine == "embedded"
