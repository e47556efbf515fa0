"""How many repeats are said to stand behind the numbers of a table."""

from dataclasses import replace

import pytest

from tests.report.make_summary import make_manifest, make_summary, repeated
from whichbits.analyze.summary import Summary
from whichbits.language.language import ENGLISH, language
from whichbits.report.cells.pooled import repeats_text
from whichbits.report.html import html
from whichbits.report.markdown import markdown
from whichbits.report.terminal import text

ALIKE = repeated(make_summary(), (1.0, 1.1, 1.2))
SEARCHED = replace(ALIKE, cells=tuple(each for each in ALIKE.cells if each.repeat == 0 or each.concurrency == 16))
"""As a search leaves it: one load has three repeats, the others one."""


@pytest.mark.parametrize(
    ("summary", "said"), [(make_summary(), "1"), (ALIKE, "3"), (SEARCHED, "1 to 3")], ids=["one", "alike", "searched"]
)
def test_repeats_are_said_as_a_range_where_loads_differ_in_them(summary: Summary, said: str) -> None:
    assert ENGLISH.say(repeats_text(summary)) == said


def test_every_report_says_the_range() -> None:
    manifest = make_manifest()

    assert "medians of 1 to 3 repeats" in markdown(SEARCHED, manifest)["report.md"].decode()
    assert "the range of the 1 to 3 repeats" in text(SEARCHED, manifest)["report.txt"].decode()
    page = html(SEARCHED, manifest)["report.html"].decode()
    assert "(1 to 3 repeats)" in page
    assert "medians of 1 to 3 repeats" in page
    assert "반복 1~3회의 중앙값" in markdown(SEARCHED, manifest, language("ko"))["report.md"].decode()
