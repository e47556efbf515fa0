"""The report in a real browser: accessible in both languages and themes, phone-wide, unmoved by hostile names."""

from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Dialog, Page, expect

from tests.browser.test_view import accessible
from tests.report.make_summary import make_manifest, renamed
from tests.report.plots.test_timelines import GOOD, LOST, cell_of
from tests.report.test_html import HOSTILE
from tests.report.test_korean import WHOLE, concluded
from whichbits.analyze.summary import Summary
from whichbits.language.language import Code, language
from whichbits.report.html import html

pytestmark = pytest.mark.browser

LONG = "qwen2.5-72b-instruct-gptq-int4-" * 6
RIGHT_TO_LEFT = "\u202e\u0646\u0645\u0648\u0630\u062c\u202e \u0627\u0644\u0642\u062f\u064a\u0645"
"""An Arabic name within marks that turn the direction of what follows."""


def opened(page: Page, folder: Path, summary: Summary = WHOLE, code: Code = "en") -> Page:
    requests = [cell_of(GOOD, LOST, arm=arm, load=load) for arm in summary.arms for load in (8, 32)]
    made = html(summary, make_manifest(tuple(summary.arms)), language(code), requests)["report.html"]
    (folder / "report.html").write_bytes(made)
    page.goto((folder / "report.html").as_uri())
    return page


def too_wide(page: Page) -> list[str]:
    """Name what reaches beyond the screen, but for what scrolls within itself."""
    wide: list[str] = page.evaluate(
        """() => [...document.querySelectorAll("main *")].filter((each) =>
          each.getBoundingClientRect().right > document.documentElement.clientWidth + 1
          && !each.closest(".scroll, pre, .unseen") && getComputedStyle(each).position !== "absolute"
          && !each.closest("svg")).map((each) => each.outerHTML.slice(0, 100))"""
    )
    return wide


@pytest.mark.parametrize("code", ["en", "ko"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_it_is_accessible_and_as_wide_as_the_screen(
    page: Page, tmp_path: Path, code: Code, scheme: str, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 844})
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    opened(page, tmp_path, code=code)

    expect(page.locator("html")).to_have_attribute("lang", code)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert too_wide(page) == []
    accessible(page)
    for folded in page.locator("details").all():
        folded.evaluate("each => { each.open = true; }")
    assert page.evaluate("document.documentElement.scrollWidth") == width
    accessible(page)


@pytest.mark.parametrize("forced", ["none", "active"])
def test_a_stretch_that_is_not_sure_is_hatched_whatever_colours_the_reader_has(
    page: Page, tmp_path: Path, forced: Literal["none", "active"]
) -> None:
    page.emulate_media(forced_colors=forced)
    (answer, *others) = WHOLE.recommendation
    level = replace(answer, level_with=("w8a8", *("" for _ in (answer.stretches or answer.ranges)[1:])))
    opened(page, tmp_path, replace(WHOLE, recommendation=(level, *others)))

    drawn = (
        page.locator(".strip")
        .first.locator("li")
        .evaluate_all(
            """all => all.map((each) => [each.className, getComputedStyle(each, "::before").backgroundImage])"""
        )
    )
    assert drawn[0][0] == "level"
    assert {"gradient" in image for name, image in drawn if name == "level"} == {True}
    assert {image for name, image in drawn if name != "level"} <= {"none"}


@pytest.mark.parametrize("table", ["#cells .scroll", "#latency-split .scroll", "#crossings .scroll >> nth=0"])
def test_on_a_phone_a_wide_table_shows_that_it_goes_on_and_keeps_what_its_rows_are(
    page: Page, tmp_path: Path, table: str
) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    box = opened(page, tmp_path).locator(table)
    name = box.locator("tbody tr th").first

    assert box.evaluate("each => each.scrollWidth > each.clientWidth")
    # What covers the shade moves with the table, the shade itself does not.
    assert box.evaluate("each => getComputedStyle(each).backgroundAttachment") == "local, local, scroll, scroll"
    before = name.bounding_box()
    box.evaluate("each => { each.scrollLeft = 9999; }")
    assert before is not None
    assert name.bounding_box() == before
    assert before["width"] < 390 / 2


def test_korean_breaks_between_words(page: Page, tmp_path: Path) -> None:
    opened(page, tmp_path, code="ko")

    expect(page.get_by_role("heading", name="결론", exact=True)).to_be_visible()
    assert page.evaluate("getComputedStyle(document.body).wordBreak") == "keep-all"


def test_every_control_can_be_reached_by_keyboard(page: Page, tmp_path: Path) -> None:
    opened(page, tmp_path)
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the answer")).to_be_focused()

    reached = page.evaluate(
        "[...document.querySelectorAll('a, button:enabled, select, summary, [tabindex=\"0\"]')].length"
    )
    for _ in range(reached):
        page.keyboard.press("Tab")
        page.evaluate("document.activeElement.dataset.reached = 1")
    missed = page.evaluate(
        """() => [...document.querySelectorAll('a, button:enabled, select, summary, [tabindex="0"]')].filter((each) =>
          each.checkVisibility() && !each.dataset.reached && !each.classList.contains("skip"))
          .map((each) => each.outerHTML.slice(0, 120))"""
    )
    assert missed == []


@pytest.mark.parametrize(
    "name",
    [HOSTILE, LONG, "x" * 180, "two  blanks\nand a line ", RIGHT_TO_LEFT],
    ids=["script", "long", "without a gap", "blanks", "right to left"],
)
@pytest.mark.parametrize("width", [1280, 390])
def test_hostile_names_run_nothing_and_break_no_layout(page: Page, tmp_path: Path, name: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 844})
    dialogs: list[str] = []

    def heard(dialog: Dialog) -> None:
        dialogs.append(dialog.message)
        dialog.dismiss()

    page.on("dialog", heard)
    opened(page, tmp_path, concluded(renamed(WHOLE, "w4a8", name)))

    page.get_by_role("combobox", name="arm").select_option(index=3)

    assert dialogs == []
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert too_wide(page) == []
    assert page.locator("img").count() == 0


def test_what_is_printed_is_dark_on_white_and_nothing_is_cut_off(page: Page, tmp_path: Path) -> None:
    page.set_viewport_size({"width": 703, "height": 1000})  # a page of A4 within its margins
    opened(page, tmp_path)
    page.emulate_media(media="print", color_scheme="dark")

    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate("document.documentElement.scrollWidth") == 703
    expect(page.get_by_role("button", name="Zoom in")).to_be_hidden()
    expect(page.get_by_text("fp16 at c32, repeat 1: all 2 requests")).to_be_visible()
