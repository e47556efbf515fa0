"""The documentation's pages, and the first column of their tables."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def section(text: str, heading: str) -> str:
    """What stands under a heading of the second level, without the headings that follow."""
    found = re.search(rf"^## {re.escape(heading)}$(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found, f"no heading {heading!r}"
    return found[1]


def keys(text: str) -> list[str]:
    """The words in code style that open the rows of a table."""
    return re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE)
