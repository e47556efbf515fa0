"""The site has every page in its navigation, and links that hold there."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from docs.pages import MOVED, main, relinked, sources
from tests.docs.pages import ROOT


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    main(folder)
    return folder


def listed(nav: list[Any]) -> list[str]:
    entries = [value for each in nav for value in each.values()]
    return [page for entry in entries for page in (entry if isinstance(entry, list) else [entry])]


def test_every_page_is_in_the_navigation_once(pages: Path) -> None:
    nav = tomllib.loads((ROOT / "zensical.toml").read_text())["project"]["nav"]

    assert sorted(listed(nav)) == sorted(path.name for path in pages.glob("*.md"))


def test_every_link_holds_on_the_site(pages: Path) -> None:
    links = [
        (page.name, link)
        for page in pages.glob("*.md")
        for link in re.findall(r"\]\((?!https?:|#)([^)#\s]+)", page.read_text(encoding="utf-8"))
    ]

    assert len(links) > 150
    assert [(page, link) for page, link in links if not (pages / link).exists()] == []


def test_llms_txt_lists_every_page_with_a_sentence_under_its_heading(pages: Path) -> None:
    text = (pages / "llms.txt").read_text()
    entries = re.findall(r"^- \[[^\]]+\]\(([^)]+)\): \S.*$", text, re.MULTILINE)
    nav = tomllib.loads((ROOT / "zensical.toml").read_text())["project"]["nav"]

    assert text.startswith("# whichbits\n\n> **Which bits should you serve, and from which load on?**")
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == [title for each in nav[1:] for title in each]
    assert entries == [name for name in listed(nav) if name != "index.md"]


def test_links_are_moved_named_or_refused(tmp_path: Path) -> None:
    source = ROOT / "docs" / "errors.md"
    places = {path.resolve(): place for place, path in sources().items()}

    def written(text: str) -> str:
        return relinked(text, source, places)

    assert written("[a](../README.md#install)") == "[a](index.md#install)"
    assert written("[a](study.md) [b](https://x.org) [c](#here)") == "[a](study.md) [b](https://x.org) [c](#here)"
    assert written("[the study](../studies/seed-l4.yaml)") == "the study (`studies/seed-l4.yaml`)"
    assert written("[studies/seed-l4.yaml](../studies/seed-l4.yaml)") == "`studies/seed-l4.yaml`"
    with pytest.raises(FileNotFoundError, match=r"nowhere\.md"):
        written("[a](nowhere.md)")


def test_pages_that_move_are_there() -> None:
    assert all((ROOT / name).is_file() for name in MOVED)
