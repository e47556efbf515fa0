"""`whichbits view` in a real browser."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.conftest import Site, at_rest
from tests.record.make_run import manifest
from whichbits.record.schema import Cell
from whichbits.record.writer import RunWriter

pytestmark = pytest.mark.browser


def accessible(page: Page) -> None:
    """Nothing that axe-core finds wrong."""
    at_rest(page)
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()


def test_from_the_list_to_a_run_and_its_report(page: Page, site: Site) -> None:
    page.goto(site.address)
    expect(page.get_by_role("heading", level=1)).to_have_text("Runs")
    accessible(page)
    page.get_by_role("rowheader").first.get_by_role("link").click()
    expect(page.get_by_role("heading", name="Cells")).to_be_visible()
    accessible(page)
    page.get_by_role("link", name="Open the report").click()
    expect(page.get_by_role("heading", name="The answer")).to_be_visible()


def test_two_runs_are_chosen_and_compared(page: Page, site: Site) -> None:
    page.goto(site.address)
    for box in page.get_by_role("checkbox").all()[:2]:
        box.check()
    page.get_by_role("button", name="Compare the chosen runs").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Comparison")
    expect(page.get_by_role("rowheader", name="Median TPOT").first).to_be_visible()
    accessible(page)


def test_finding_and_sorting(page: Page, site: Site) -> None:
    page.goto(site.address)
    page.get_by_role("searchbox").fill("no such thing")
    page.keyboard.press("Enter")
    expect(page.get_by_text("No run has all of these words")).to_be_visible()
    page.get_by_role("link", name="All runs").click()
    page.get_by_role("link", name="Study").click()
    expect(page.get_by_role("columnheader", name="Study")).to_have_attribute("aria-sort", "ascending")


def test_a_run_under_way_is_followed_to_its_end(page: Page, site: Site) -> None:
    cells = [Cell(number, "a", 1, None, number) for number in range(2)]
    writer = RunWriter.create(site.runs, replace(manifest(cells=cells), name="live"))
    page.goto(f"{site.address}/runs/{writer.folder.name}/")
    expect(page.locator("#progress")).to_have_text("running")
    rows = page.locator("#cells tbody tr")
    expect(rows.nth(0).locator("[data-key=state]")).to_have_text("planned")
    done = replace(cells[0], state="done", requests=0, failed=0, started_ns=0, finished_ns=2_000_000_000)
    writer.cell(done, [])
    expect(rows.nth(0).locator("[data-key=state]")).to_have_text("done")
    expect(rows.nth(0).locator("[data-key=seconds]")).to_have_text("2")
    expect(page.locator("#ended")).to_have_text("1")
    writer.finish(interrupted=True)
    expect(page.locator("#progress")).to_have_text("cut short")


def test_hostile_names_run_nothing(page: Page, site: Site) -> None:
    hostile = "<img src=x onerror=document.title='owned'>"
    writer = RunWriter.create(site.runs, replace(manifest(cells=[Cell(0, hostile, 1, None, 0)]), name="hostile"))
    writer.note(hostile)
    page.goto(f"{site.address}/runs/{writer.folder.name}/")
    expect(page.get_by_role("rowheader", name=hostile)).to_be_visible()
    expect(page).to_have_title(re.compile("hostile"))
    writer.finish(interrupted=True)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_it_without_scrolling_sideways(page: Page, site: Site, scheme: str) -> None:
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(site.address)
    name = page.get_by_role("rowheader").first.get_by_role("link").get_attribute("href")
    for path in ("/", str(name), f"{name}report"):
        page.goto(site.address + path)
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= 390, path
        accessible(page)


def test_everything_can_be_reached_by_keyboard(page: Page, site: Site) -> None:
    page.goto(site.address)
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    reached = set()
    for _ in range(30):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.tagName + (document.activeElement.type || '')"))
    assert {"INPUTsearch", "INPUTcheckbox", "BUTTONsubmit", "A"} <= reached


def test_what_is_printed_is_black_on_white(page: Page, site: Site, tmp_path: Path) -> None:
    page.emulate_media(media="print", color_scheme="dark")
    page.goto(site.address)
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
