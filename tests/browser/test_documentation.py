"""The documentation's site in a real browser, as `make docs` leaves it in build/site, served from loopback."""

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, ViewportSize, expect

from docs.pages import sources
from tests.browser.conftest import at_rest

pytestmark = pytest.mark.browser

SITE = Path(__file__).parents[2] / "build" / "site"
PAGES = sorted(str(path.with_suffix(".html")) for path in sources() if path.suffix == ".md")
PHONE: ViewportSize = {"width": 390, "height": 844}

# What each page links to on the site, and the anchors that it has. The sidebar and the search are part of it.
LINKS = """async (pages) => {
  const parsed = async (name) => new DOMParser().parseFromString(await (await fetch(name)).text(), "text/html");
  const documents = Object.fromEntries(await Promise.all(pages.map(async (name) => [name, await parsed(name)])));
  return Object.entries(documents).map(([name, one]) => ({
    name,
    ids: [...one.querySelectorAll("[id]")].map((each) => each.id),
    links: [...one.querySelectorAll("a[href]")].map((each) => each.getAttribute("href")),
  }));
}"""


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the parent's name
        pass


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    assert (SITE / "index.html").is_file(), "the site is not built: make docs"
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(SITE)))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_accessible_in_light_and_dark_and_fits_a_phone(page: Page, address: str, name: str) -> None:
    for scheme, told in (("light", "default"), ("dark", "slate")):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        page.goto(f"{address}/{name}")
        expect(page.locator("body")).to_have_attribute("data-md-color-scheme", told)
        expect(page.get_by_role("heading", level=1)).to_have_count(1)
        at_rest(page)
        found = Axe().run(page, options={"runOnly": ["color-contrast"]} if scheme == "dark" else None)
        assert found.violations_count == 0, found.generate_report()

    page.set_viewport_size(PHONE)
    at_rest(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_each_link_and_anchor_leads_somewhere_on_the_site(page: Page, address: str) -> None:
    page.goto(f"{address}/index.html")
    told: list[dict[str, Any]] = page.evaluate(LINKS, PAGES)
    ids = {each["name"]: set(each["ids"]) for each in told}
    inner = [(each["name"], link) for each in told for link in each["links"] if not link.startswith(("http", "data:"))]

    assert len(inner) > 1000
    assert [(name, link) for name, link in inner if not _leads(name, link, ids)] == []


def _leads(name: str, link: str, ids: dict[str, set[str]]) -> bool:
    file, _, anchor = link.partition("#")
    target = file.removeprefix("./") or name
    if not (SITE / (target if target != "." else "index.html")).exists():
        return False
    return not anchor or target not in ids or anchor in ids[target]


def test_no_link_leads_to_a_page_that_is_not_linked_by_https(page: Page, address: str) -> None:
    page.goto(f"{address}/index.html")
    told: list[dict[str, Any]] = page.evaluate(LINKS, PAGES)
    outer = {link for each in told for link in each["links"] if link.startswith("http:")}

    assert outer == set()


def test_the_search_finds_without_a_network(page: Page, address: str) -> None:
    page.goto(f"{address}/index.html")
    page.get_by_role("button", name="Search").first.click()
    asked = page.locator("input:focus")
    expect(asked).to_have_count(1)
    asked.press_sequentially("coordinated omission")
    found = page.locator("a").filter(has=page.locator("mark")).filter(has_text="Design of experiments").first
    expect(found).to_be_visible()
    found.click()

    expect(page.get_by_role("heading", level=1)).to_contain_text("Design of experiments")


def test_the_start_page_shows_a_real_answer_before_any_scrolling(page: Page, address: str) -> None:
    page.goto(f"{address}/index.html")
    picture = page.get_by_role("img", name="Median TPOT over load").first

    expect(picture).to_be_in_viewport()
    assert picture.evaluate("each => each.naturalWidth") > 0
