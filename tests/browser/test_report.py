"""The report in Korean in a real browser: accessible, and as wide as a phone."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_view import accessible
from tests.report.test_korean import WHOLE as SUMMARY
from tests.report.test_korean import page_of

pytestmark = pytest.mark.browser


@pytest.fixture
def report(page: Page, tmp_path: Path) -> Page:
    (tmp_path / "report.html").write_text(page_of(SUMMARY), encoding="utf-8")
    page.goto((tmp_path / "report.html").as_uri())
    return page


def test_the_korean_report_is_accessible(report: Page) -> None:
    expect(report.get_by_role("heading", name="결론", exact=True)).to_be_visible()
    expect(report.locator("html")).to_have_attribute("lang", "ko")
    accessible(report)


def test_it_fits_a_phone_and_breaks_between_words(report: Page) -> None:
    report.set_viewport_size({"width": 390, "height": 844})

    assert report.evaluate("document.documentElement.scrollWidth") == 390
    assert report.evaluate("getComputedStyle(document.body).wordBreak") == "keep-all"
    accessible(report)
