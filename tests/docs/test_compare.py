"""docs/compare.md names every importer, format and verdict that there is."""

import re
from typing import get_args

from tests.docs.pages import page, section
from whichbits.analyze.comparison.comparison import Verdict
from whichbits.record.importers.tools import IMPORTERS
from whichbits.report.comparison.wording import GATE_VERDICTS, VERDICTS
from whichbits.report.exporters.exporter import EXPORTERS

PAGE = page("compare.md")


def test_every_importer_is_in_the_table() -> None:
    rows = re.findall(r"^\| (`[^|]+) \|", section(PAGE, "What is read of each tool"), re.MULTILINE)

    assert [name for row in rows for name in re.findall(r"`([^`]+)`", row)] == list(IMPORTERS)


def test_every_format_is_named() -> None:
    assert set(EXPORTERS) <= set(re.findall(r"`([\w-]+)`:", section(PAGE, "What is exported")))


def test_every_verdict_has_its_words() -> None:
    assert VERDICTS.keys() == set(get_args(Verdict))
    table = section(PAGE, "What a row says")
    assert all(words in table for verdict, words in VERDICTS.items() if verdict != "not_comparable")


def test_every_verdict_of_a_limit_is_in_the_table() -> None:
    table = section(PAGE, "Limits for CI").lower()

    assert all(f"| {words.lower()} |" in table for words in GATE_VERDICTS.values())
