"""Every relative link of the documentation leads to a file and a heading that exist."""

import re
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, ROOT

PAGES = sorted([*DOCS.glob("*.md"), *ROOT.glob("*.md")])


def anchors(path: Path) -> set[str]:
    """The anchors that GitHub makes of a page's headings."""
    headings = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]*)#?([^)]*)\)", path.read_text(encoding="utf-8"))
    broken = [
        f"{file}#{anchor}"
        for file, anchor in links
        if not (target := (path.parent / file if file else path)).exists() or (anchor and anchor not in anchors(target))
    ]

    assert broken == []
