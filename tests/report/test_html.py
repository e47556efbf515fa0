"""The page: hostile names stay text, nothing is fetched, every chart has its numbers as a table."""

import itertools
import json
from html.parser import HTMLParser

import pytest

from tests.report.make_summary import make_manifest, make_summary, renamed
from whichbits.analyze.summary import Summary
from whichbits.report.html import html

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\"'{{ 7*7 }}"


class Page(HTMLParser):
    """Collects what a browser would act on."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.attributes: list[tuple[str, str, str | None]] = []
        self.headings: list[tuple[int, str]] = []
        self.tags: list[str] = []
        self.text = ""
        self._open: list[tuple[str, dict[str, str | None]]] = []
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag in ("script", "h1", "h2", "h3"):
            self._open.append((tag, dict(attrs)))
            if tag != "script":
                self.headings.append((int(tag[1]), ""))

    def handle_endtag(self, tag: str) -> None:
        if self._open and self._open[-1][0] == tag:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1][0] == "script":
            self.scripts.append((self._open[-1][1], data))
            return
        self.text += data
        if self._open:
            level, title = self.headings[-1]
            self.headings[-1] = (level, title + data)


def rendered(summary: Summary) -> str:
    return html(summary, make_manifest(tuple(summary.arms)))["report.html"].decode()


@pytest.fixture(scope="module")
def source() -> str:
    return rendered(make_summary())


@pytest.fixture(scope="module")
def page(source: str) -> Page:
    return Page(source)


@pytest.fixture(scope="module")
def hostile() -> Page:
    return Page(rendered(renamed(make_summary(), "w8a8", HOSTILE)))


def test_a_hostile_name_stays_text(hostile: Page, page: Page) -> None:
    assert hostile.tags == page.tags
    assert HOSTILE in hostile.text
    assert not [name for _, name, _ in hostile.attributes if name.startswith("on")]


def test_the_data_islands_parse_and_hold_the_name(hostile: Page) -> None:
    islands = [data for attrs, data in hostile.scripts if attrs.get("type") == "application/json"]

    assert len(islands) == 6
    assert all(HOSTILE in json.dumps(json.loads(island), ensure_ascii=False).replace('\\"', '"') for island in islands)


def test_only_one_script_runs_and_the_policy_pins_it(page: Page) -> None:
    running = [attrs for attrs, _ in page.scripts if attrs.get("type") != "application/json"]
    policy = next(value for tag, name, value in page.attributes if (tag, name) == ("meta", "content") and value)

    assert running == [{"type": "module"}]
    assert "default-src 'none'" in policy
    assert "'unsafe-inline'" not in policy.split("script-src")[1].split(";")[0]


def test_the_page_is_offline_and_small(source: str, page: Page) -> None:
    fetches = [value for _, name, value in page.attributes if name in ("src", "href", "srcset", "action")]

    assert all(value and value.startswith("#") for value in fetches)
    assert "@import" not in source.split("</style>", maxsplit=1)[0]
    assert "url(" not in source.split("</style>", maxsplit=1)[0]
    assert len(source.encode()) < 2_500_000


def test_headings_lead_from_the_answer_to_how_to_reproduce_it(page: Page) -> None:
    sections = [title for level, title in page.headings if level == 2]
    levels = [level for level, _ in page.headings]

    assert sections == [
        "The answer",
        "Evidence",
        "Every cell",
        "Where arms trade places",
        "Findings",
        "The arms",
        "Books and client",
        "Provenance",
        "Reproduce",
    ]
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))


def test_every_chart_has_words_and_a_table_for_those_who_cannot_see_it(page: Page) -> None:
    charts = [value for _, name, value in page.attributes if name == "data-chart"]
    labels = [value for tag, name, value in page.attributes if (tag, name) == ("div", "aria-label") and value]

    assert len(charts) == 6
    assert sum(label.startswith("Line chart: ") for label in labels) == 6
    assert page.tags.count("caption") == page.tags.count("table")


def test_links_within_the_page_lead_somewhere(page: Page) -> None:
    targets = {f"#{value}" for _, name, value in page.attributes if name == "id"}

    assert {value for tag, name, value in page.attributes if (tag, name) == ("a", "href")} <= targets
