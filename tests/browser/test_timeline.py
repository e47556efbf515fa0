"""The request timeline in a real browser: choosing, zooming by pointer, wheel, buttons and keys, and what it tells."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.report.make_summary import make_manifest, make_summary
from tests.report.plots.test_timelines import GOOD, LOST, cell_of
from whichbits.report.html import html

pytestmark = pytest.mark.browser

LATE = replace(
    GOOD, index=9, planned_ms=600.0, sent_ms=610.0, first_ms=650.0, last_ms=1000.0, ended_ms=1000.0, gap_ms=None
)
SHOWN = re.compile(r"([0-9.]+) s to ([0-9.]+) s, (\d+) requests?")


@pytest.fixture
def chart(page: Page, tmp_path: Path) -> Locator:
    cells = [cell_of(GOOD, LOST, LATE), cell_of(GOOD, arm="w4a8"), cell_of(LATE, arm="w4a8", load=32)]
    made = html(make_summary(), make_manifest(), requests=cells)["report.html"]
    (tmp_path / "report.html").write_bytes(made)
    page.goto((tmp_path / "report.html").as_uri())
    return page.locator("#timeline")


def shown(chart: Locator) -> tuple[float, float, int]:
    found = SHOWN.search(chart.locator("output").text_content() or "")
    assert found is not None
    return float(found[1]), float(found[2]), int(found[3])


def box(chart: Locator) -> tuple[float, float, float, float]:
    chart.locator(".rows").scroll_into_view_if_needed()
    found = chart.locator("svg").bounding_box()
    assert found is not None
    return found["x"], found["y"], found["width"], found["height"]


def test_the_script_draws_the_same_bars_as_the_page_came_with(page: Page, chart: Locator, tmp_path: Path) -> None:
    names = ("wait", "prefill", "decode", "gap", "lost", "failed")
    drawn = [chart.locator(f"path.{name}").get_attribute("d") for name in names]

    context = page.context.browser.new_context(java_script_enabled=False)  # type: ignore[union-attr]
    without = context.new_page()
    without.goto((tmp_path / "report.html").as_uri())
    still = [without.locator(f"#timeline path.{name}").get_attribute("d") for name in names]
    hidden = without.get_by_role("button", name="Zoom in").count()
    context.close()

    assert drawn == still
    assert hidden == 0


def test_a_drag_zooms_to_its_stretch_and_a_button_shows_the_whole_again(page: Page, chart: Locator) -> None:
    x, y, width, height = box(chart)
    assert shown(chart) == (0, 1, 3)

    page.mouse.move(x + 0.5 * width, y + height / 2)
    page.mouse.down()
    page.mouse.move(x + 0.9 * width, y + height / 2, steps=3)
    page.mouse.up()

    start, end, count = shown(chart)
    assert [start, end] == pytest.approx([0.5, 0.9], abs=0.005)
    assert count == 1
    chart.get_by_role("button", name="Whole cell").click()
    assert shown(chart) == (0, 1, 3)
    expect(chart.get_by_role("button", name="Whole cell")).to_be_disabled()


def stands_still(page: Page) -> None:
    """Wait until the page has scrolled to where it was sent."""
    before = None
    while (now := page.evaluate("window.scrollY")) != before:
        before = now
        page.wait_for_timeout(300)


def test_the_wheel_scrolls_the_page_and_zooms_with_ctrl(page: Page, chart: Locator) -> None:
    x, y, width, height = box(chart)
    page.mouse.move(x + width / 2, y + height / 2)

    page.mouse.wheel(0, -100)
    stands_still(page)
    assert shown(chart) == (0, 1, 3)
    x, y, width, height = box(chart)
    page.mouse.move(x + width / 2, y + height / 2)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -100)
    page.keyboard.up("Control")
    expect(chart.get_by_role("button", name="Whole cell")).to_be_enabled()

    start, end, _ = shown(chart)
    assert [start, end] == pytest.approx([0.1, 0.9], abs=0.005)


def test_keys_and_buttons_zoom_move_and_go_back(page: Page, chart: Locator) -> None:
    chart.locator(".rows").focus()
    page.keyboard.press("+")
    assert shown(chart)[:2] == (0.25, 0.75)
    page.keyboard.press("ArrowRight")
    assert shown(chart)[:2] == (0.375, 0.875)
    chart.get_by_role("button", name="Earlier").click()
    chart.get_by_role("button", name="Zoom in").click()
    assert shown(chart)[:2] == (0.375, 0.625)
    chart.locator(".rows").focus()
    page.keyboard.press("0")
    assert shown(chart) == (0, 1, 3)


def test_a_request_is_told_to_pointer_and_keys_alike(page: Page, chart: Locator) -> None:
    told = chart.locator(".told")
    x, y, width, height = box(chart)

    page.mouse.move(x + 0.3 * width, y + height / 2)
    expect(told).to_contain_text("endedtimeout")
    page.mouse.move(x - 30, y - 30)
    expect(told).to_be_hidden()
    chart.locator(".rows").focus()
    page.keyboard.press("ArrowDown")
    expect(told).to_contain_text("before its send (ms)10.0")
    expect(told).to_contain_text("queue and prefill (ms)40.0")
    expect(told).to_contain_text("decode (ms)150")
    expect(told).to_contain_text("longest gap (ms)100")


def test_the_table_holds_every_request_that_is_shown(chart: Locator) -> None:
    chart.get_by_text("These requests as a table").click()

    rows = chart.locator("tbody tr")
    expect(rows).to_have_count(3)
    assert rows.nth(0).locator("th, td").all_text_contents() == [
        *("0", "0", "0.000", "10.0", "40.0", "150", "16", "100", "ok")
    ]
    assert rows.nth(1).locator("th, td").all_text_contents() == [
        *("4", "–", "0.100", "0.00", "–", "–", "–", "–", "timeout")  # noqa: RUF001 - what is not known
    ]


def test_another_cell_is_chosen_by_arm_and_load(chart: Locator) -> None:
    chart.get_by_label("arm").select_option("w4a8")
    expect(chart.get_by_text("w4a8 at c8, repeat 1: the only request.")).to_be_visible()

    expect(chart.locator("output")).to_have_text(re.compile(r" s, 1 request$"))

    chart.get_by_label("load").select_option("c32")
    expect(chart.get_by_text("w4a8 at c32, repeat 1")).to_be_visible()
    chart.get_by_label("arm").select_option("fp16")
    expect(chart.get_by_label("load")).to_have_value("c8")
    assert shown(chart) == (0, 1, 3)
