"""A real Chromium over real pages. Needs Debian's chromium; `make test-browser` installs it where it may."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.record.make_run import make_run

CHROMIUM = os.environ.get("WHICHBITS_CHROMIUM") or shutil.which("chromium")
_PATIENCE_MS = 60_000
"""Pages are there in moments; on a busy machine in more of them."""
_QUIET = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@dataclass(frozen=True)
class Site:
    address: str
    runs: Path


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    assert CHROMIUM is not None, "install chromium, or name it as WHICHBITS_CHROMIUM"
    expect.set_options(timeout=_PATIENCE_MS)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=CHROMIUM,
            args=[*_QUIET, *(["--no-sandbox"] if os.getuid() == 0 else [])],
            timeout=2 * _PATIENCE_MS,
        )
        yield chromium
        chromium.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page that fails its test if anything is asked of another place, or a script errs."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(_PATIENCE_MS)
    opened = context.new_page()
    wrong: list[str] = []
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    opened.on("request", lambda asked: None if _is_ours(asked.url) else wrong.append(asked.url))
    opened.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
    yield opened
    context.close()
    assert wrong == []


def at_rest(page: Page) -> None:
    """Wait for what a page loads late, and end what moves: half way, colours and places are those of no page."""
    page.evaluate("document.fonts.ready.then(() => true)")
    page.evaluate(
        """() => document.getAnimations().forEach((each) => {
          if (each.effect.getComputedTiming().endTime === Infinity) each.cancel(); else each.finish();
        })"""
    )


def _is_ours(url: str) -> bool:
    return url.startswith(("http://127.0.0.1:", "data:", "file:", "blob:"))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """`whichbits view` as its user starts it, over two runs."""
    runs = tmp_path_factory.mktemp("runs")
    make_run(runs)
    make_run(runs, per_stream=5)
    command = [sys.executable, "-m", "whichbits", "view", str(runs), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        yield Site(address.rstrip("/"), runs)
        process.terminate()
        assert process.wait(60) == 0
