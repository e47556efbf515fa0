"""The page: hostile names stay text, nothing is fetched, every chart has its numbers as a table."""

import itertools
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from tests.report.make_summary import explained, make_manifest, make_summary, renamed
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


def plain_summary() -> Summary:
    """Return a summary without anything that an engine or an SLO tells."""
    summary = make_summary()
    cells = tuple(replace(cell, slo_share=None, prefix_hit_rate=None, mean_batch=None) for cell in summary.cells)
    return replace(summary, cells=cells)


def rendered(summary: Summary) -> str:
    return html(summary, make_manifest(tuple(summary.arms)))["report.html"].decode()


@pytest.fixture(scope="module")
def source() -> str:
    return rendered(explained(make_summary()))


@pytest.fixture(scope="module")
def page(source: str) -> Page:
    return Page(source)


@pytest.fixture(scope="module")
def hostile() -> Page:
    return Page(rendered(renamed(explained(make_summary()), "w8a8", HOSTILE)))


def test_a_hostile_name_stays_text(hostile: Page, page: Page) -> None:
    assert hostile.tags == page.tags
    assert HOSTILE in hostile.text
    assert not [name for _, name, _ in hostile.attributes if name.startswith("on")]


@pytest.mark.parametrize("odd", ["\u202e", "\u200b", "\x1b", "\x07"], ids=ascii)
def test_no_name_turns_the_page_s_text_round_or_hides_in_it(odd: str) -> None:
    page = rendered(renamed(explained(make_summary()), "w8a8", f"a{odd}b"))

    assert odd not in page
    assert "a\N{REPLACEMENT CHARACTER}b" in page


def test_only_the_page_s_own_script_may_run_and_nothing_be_loaded(page: Page) -> None:
    policy = next(value for tag, name, value in page.attributes if (tag, name) == ("meta", "content") and value)
    allowed = next(part.split() for part in policy.split("; ") if part.startswith("script-src"))

    assert page.scripts == []
    assert "default-src 'none'" in policy
    assert len(allowed) == 2
    assert allowed[1].startswith("'sha256-")


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
        "Curves over load",
        "Every arm and load",
        "Where arms trade places",
        "Why",
        "Findings",
        "The arms",
        "Books and client",
        "Provenance",
        "Reproduce",
    ]
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))


def test_every_chart_has_words_and_a_table_for_those_who_cannot_see_it(page: Page) -> None:
    labels = [value for tag, name, value in page.attributes if (tag, name) == ("svg", "aria-label") and value]

    assert len(labels) == page.tags.count("svg") == 8
    assert sum(label.startswith("Line chart: ") for label in labels) == 7
    assert sum(label.startswith("Roofline: ") for label in labels) == 1
    assert page.tags.count("caption") == page.tags.count("table")


def test_every_table_that_may_scroll_can_be_reached_and_is_named(page: Page) -> None:
    scrolling = sum((tag, name, value) == ("div", "class", "scroll") for tag, name, value in page.attributes)
    regions = sum((tag, name, value) == ("div", "role", "region") for tag, name, value in page.attributes)
    stops = sum((tag, name, value) == ("div", "tabindex", "0") for tag, name, value in page.attributes)

    assert scrolling == regions == stops == page.tags.count("table")
    assert all(value in ("col", "row", "rowgroup") for _, name, value in page.attributes if name == "scope")


def test_sections_of_which_nothing_is_known_are_not_there() -> None:
    bare = Page(rendered(plain_summary()))

    assert "Why" not in [title for _, title in bare.headings]
    assert "Service level" not in [title for _, title in bare.headings]


def test_a_run_that_was_cut_short_says_what_finished_and_how_to_go_on() -> None:
    summary = make_summary()
    cut = replace(summary.cells[-1], state="interrupted", failed=0, errors={"cancelled": 3})

    page = Page(rendered(replace(summary, interrupted=True, cells=(*summary.cells[:-1], cut))))

    assert "15 of 16 cells finished, 1 cut short" in page.text
    assert f"whichbits run --resume {summary.run}" in page.text


def test_links_within_the_page_lead_somewhere(page: Page) -> None:
    targets = {f"#{value}" for _, name, value in page.attributes if name == "id"}

    assert {value for tag, name, value in page.attributes if (tag, name) == ("a", "href")} <= targets


def test_remarks_of_successive_cells_stand_once_below_them() -> None:
    manifest = make_manifest()
    half = len(manifest.cells) // 2
    cells = tuple(
        replace(cell, client=None, notes=("the first half" if place < half else "the rest",))
        for place, cell in enumerate(manifest.cells)
    )

    made = html(make_summary(), replace(manifest, cells=cells))["report.html"].decode()

    books = made[made.index('id="client"') :]
    assert books.count("the first half") == books.count("the rest") == 1
    assert books.count('<tr class="goes-on">') == len(cells) - 2


def test_a_stretch_where_another_arm_may_be_as_good_is_hatched_and_the_legend_says_so() -> None:
    summary = make_summary()
    answer = summary.recommendation[0]
    one_of = ("",) * (len(answer.ranges) - 1)
    sure = rendered(replace(summary, recommendation=(replace(answer, level_with=("", *one_of)),), crossovers=()))
    level = rendered(replace(summary, recommendation=(replace(answer, level_with=("w8a8", *one_of)),), crossovers=()))

    assert (sure.count('class="level"'), "A hatched bar" in sure) == (0, False)
    assert (level.count('class="level"'), "A hatched bar" in level) == (1, True)
