"""Writes what the rules say into docs/field-reports.md: ``python -m tests.analyze.reexamine``."""

from tests.analyze.field_reports import a100_report, l4_report, refreshed
from tests.analyze.h200 import h200_summary
from tests.docs.pages import DOCS, page
from whichbits.analyze.summary import Summary

PAGE = "field-reports.md"


def all_summaries() -> dict[str, Summary]:
    """By the name that the page gives them."""
    return {"first report": a100_report(), "second report": l4_report(), "H200": h200_summary()}


if __name__ == "__main__":
    (DOCS / PAGE).write_text(refreshed(page(PAGE), all_summaries()), encoding="utf-8")
