"""What bits cost in answers, in all three reports; nothing where nobody asked."""

from dataclasses import replace

import pytest

from tests.analyze.quality.made import WORST, arm, distance, free, quality
from tests.report.make_summary import make_manifest, make_summary
from whichbits.analyze.answer.tradeoff import Candidates, with_trade_offs
from whichbits.analyze.quality.measures import TaskQuality, Valued
from whichbits.analyze.summary import Summary
from whichbits.report.html import html
from whichbits.report.markdown import markdown
from whichbits.report.terminal import text

TASK = TaskQuality("arc_easy", "acc", 500, Valued(0.7, 0.66, 0.74), 0.71, Valued(-0.01, -0.03, 0.01), 0.986, 5, 10, 0.3)
JUDGED = quality(
    replace(arm("w4a16"), worst=(WORST,), answers=free(), tasks=(TASK,)),
    arm("w8a8", "same"),
    arm("w4a8", "broken", distance(9e8)),
    reference="fp16",
)


def pages(summary: Summary) -> list[str]:
    manifest = make_manifest()
    made = (text(summary, manifest), markdown(summary, manifest), html(summary, manifest))
    return [next(iter(files.values())).decode() for files in made]


@pytest.fixture(scope="module")
def shown() -> list[str]:
    plain = make_summary()
    judged = with_trade_offs(JUDGED, Candidates(plain.arms, plain.crossovers, "concurrency"))
    return pages(replace(plain, quality=judged))


def test_every_report_names_prices_noise_and_the_broken_arm(shown: list[str]) -> None:
    for page in shown:
        flat = " ".join(page.split())
        assert "What the bits cost in answers" in flat
        assert "w4a8 against fp16: broken, whatever its size and speed." in flat
        assert "fp16 asked twice" in flat
        assert "23 of 24 answers the same" in flat


def test_the_pages_hold_every_table(shown: list[str]) -> None:
    titles = ("Size, speed and answers", "Distance to the reference", "By domain", "Free answers", "Tasks")
    for page in shown[1:]:
        assert all(title in page for title in (*titles, "Where it hurts most"))
        assert "98.6%" in page  # recovery


def test_texts_cannot_steer_the_pages(shown: list[str]) -> None:
    _, in_markdown, in_html = shown

    assert r"the key is \| 58" in in_markdown
    assert "prose/<b>" not in in_html
    assert "prose/&lt;b&gt;" in in_html


def test_without_quality_there_is_no_section() -> None:
    assert all("What the bits cost in answers" not in page for page in pages(make_summary()))


def test_an_interrupted_run_without_cells_goes_on_by_asking() -> None:
    for page in pages(replace(make_summary(), cells=(), interrupted=True)):
        flat = " ".join(page.split())
        assert "not every arm was asked" in flat
        assert "whichbits quality 2026-11-29T1404-quickstart" in flat
        assert "--resume" not in flat
