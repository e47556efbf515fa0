"""The page stays small whatever the run's size, and cuts nothing where it need not."""

from dataclasses import replace

import pytest

from tests.report.make_summary import explained, make_manifest, make_summary
from tests.report.make_vast import flights, recorded, vast
from whichbits.analyze.summary import Summary
from whichbits.language.language import language
from whichbits.record.schema import Fact, Manifest
from whichbits.report.html import MOST_BYTES, html
from whichbits.report.markdown import MOST_BYTES as MARKDOWN_BYTES
from whichbits.report.markdown import markdown
from whichbits.report.terminal import text

CUT = "would make this page too large"


def large(loads: int, repeats: int) -> tuple[Summary, Manifest]:
    """The small study's cells again at many loads and repeats, with what is recorded of each."""
    summary, manifest = explained(make_summary()), make_manifest()
    patterns = [cell for cell in summary.cells if cell.concurrency == 16]
    keys = [(cell, load, repeat) for cell in patterns for load in range(1, loads + 1) for repeat in range(repeats)]
    cells = tuple(
        replace(cell, cell=number, concurrency=load, repeat=repeat) for number, (cell, load, repeat) in enumerate(keys)
    )
    return replace(summary, cells=cells), replace(manifest, cells=recorded(cells, manifest))


def page(summary: Summary, manifest: Manifest, code: str = "en") -> bytes:
    return html(summary, manifest, language("ko" if code == "ko" else "en"))["report.html"]


@pytest.mark.parametrize("code", ["en", "ko"])
def test_thousands_of_cells_fit_and_say_what_is_left_out(code: str) -> None:
    made = page(*large(loads=40, repeats=25), code)

    assert len(made) <= MOST_BYTES < 2_500_000
    assert "summary.json" in made.decode()
    assert (CUT in made.decode()) == (code == "en")


def test_hundreds_of_cells_are_all_there() -> None:
    summary, manifest = large(loads=20, repeats=5)
    made = page(summary, manifest)

    assert len(summary.cells) == 400
    assert len(made) <= MOST_BYTES
    assert CUT not in made.decode()
    assert made.decode().count("a note") == 400


def test_a_line_that_says_a_dozen_facts_stands_once() -> None:
    summary, manifest = make_summary(), make_manifest()
    arm, record = next(iter(manifest.arms.items()))
    line = "INFO config: " + "x" * 4000
    facts = {f"fact_{number}": Fact(number, "server log", line) for number in range(15)}
    replicas = tuple(replace(replica, facts=facts) for replica in record.replicas)
    made = page(summary, replace(manifest, arms=manifest.arms | {arm: replace(record, replicas=replicas)})).decode()

    assert made.count(line) == 1
    assert made.count("the same line as of fact 0") == 14


SHAPES = {
    "hundreds of arms": (300, 2),
    "arms and loads": (60, 10),
    "as many arms as are drawn": (12, 40),
    "hundreds of loads": (2, 400),
    "hundreds of arms at many loads": (100, 20),
}


@pytest.fixture(scope="module", params=SHAPES.values(), ids=tuple(SHAPES))
def hostile(request: pytest.FixtureRequest) -> tuple[Summary, Manifest]:
    return vast(*request.param)


def test_every_shape_of_run_fits_with_its_requests(hostile: tuple[Summary, Manifest]) -> None:
    summary, manifest = hostile
    made = html(summary, manifest, language("en"), flights(manifest))["report.html"]

    assert len(made) <= MOST_BYTES < 2_500_000
    assert "summary.json" in made.decode()


def test_markdown_of_every_shape_can_be_read(hostile: tuple[Summary, Manifest]) -> None:
    files = markdown(*hostile)

    assert len(files["report.md"]) <= MARKDOWN_BYTES <= 512_000
    assert sum(map(len, files.values())) <= 2_500_000
    assert max(map(len, files["report.md"].decode().splitlines())) < 40_000


def test_a_terminal_is_not_flooded(hostile: tuple[Summary, Manifest]) -> None:
    told = text(*hostile)["report.txt"].decode().splitlines()

    assert len(told) < 700
    assert max(map(len, told)) <= 80


def test_names_that_fill_a_line_fit_too() -> None:
    summary, manifest = vast(300, 8, name="<&" * 60)
    made = page(summary, manifest)

    assert len(made) <= MOST_BYTES
    assert b"300 arms are too many to draw" in made


def test_every_arm_stands_in_a_line_of_the_page_and_the_best_in_markdown() -> None:
    summary, manifest = vast(300, 2)
    made = page(summary, manifest).decode().split('id="every-arm"')[1].split("</table>")[0]
    told = markdown(summary, manifest)["report.md"].decode().split("### Every arm in a line")[1]

    assert all(f">arm-{number}</th>" in made for number in range(300))
    assert "| arm-99 |" in told
    assert "| arm-100 |" not in told
    assert "Left out here: 200 rows; see `report.html`" in told
