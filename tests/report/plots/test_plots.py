"""Plots: well formed whatever the names, a mark a point, bands and changes where they are known."""

from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from tests.report.make_summary import explained, make_summary, renamed
from whichbits.analyze.summary import Summary
from whichbits.report.plots.figures import FIGURES, figures
from whichbits.report.plots.over_load import over_load
from whichbits.report.plots.svg import standalone
from whichbits.report.plots.under_roof import roofs, spots, under_roof

HOSTILE = "</svg><script>alert(1)</script>\"'&\x1b[2J"


def drawn(summary: Summary, figure: int = 0) -> ET.Element:
    return ET.fromstring(over_load(summary, FIGURES[figure], "words"))  # noqa: S314 - our own


def titles(drawing: ET.Element) -> list[str]:
    return [element.text or "" for element in drawing.iter() if element.tag.endswith("title")]


@pytest.mark.parametrize("name", [HOSTILE, "한국어", "x" * 300])
def test_any_name_leaves_the_picture_whole_and_without_a_script(name: str) -> None:
    summary = renamed(explained(make_summary()), "fp16", name)
    pictures = [over_load(summary, figure, name) for figure in figures(summary)]

    for picture in [*pictures, under_roof(summary, name) or ""]:
        for whole in (picture, standalone(picture, "Median TPOT (ms)")):
            tags = {element.tag.rpartition("}")[2] for element in ET.fromstring(whole).iter()}  # noqa: S314
            assert tags <= {"svg", "style", "g", "path", "rect", "text", "title"}


@pytest.mark.parametrize(
    ("name", "shown", "units"),
    [
        ("w4a16", "w4a16", 5 * 8.6),
        ("least-outstanding", "least-outstanding", 17 * 8.6),
        ("W" * 40, "W" * 17 + "…", 18 * 8.6),
        ("한국어 암", "한국어 암", 9 * 8.6),
    ],
    ids=["short", "longer than the usual edge", "cut by a mark", "of wide characters"],
)
def test_the_paper_is_wide_enough_for_the_names_of_arms(name: str, shown: str, units: float) -> None:
    """8.6 units a column are DejaVu Sans Bold's at 12 px, the widest of the usual fonts."""
    summary = renamed(explained(make_summary()), "fp16", name)

    for picture in (over_load(summary, FIGURES[0], "words"), under_roof(summary, "words") or ""):
        drawing = ET.fromstring(picture)  # noqa: S314 - our own
        width = float(drawing.attrib["viewBox"].split()[2])
        named = [each for each in drawing.iter() if each.attrib.get("class") == "name"]
        text = next(each for each in named if "".join(each.itertext()) == name + shown)
        assert float(text.attrib["x"]) + units <= width


def test_each_point_says_its_arm_load_and_value_with_its_interval() -> None:
    said = titles(drawn(make_summary()))

    # 28 ms, give or take 6 % as there are 10 requests.
    assert "fp16 at 4: 28.0 (26.3 to 29.7)" in said
    assert len([title for title in said if title.startswith("w4a16 at")]) == 3


def test_a_cell_that_the_client_limited_is_hollow() -> None:
    summary = make_summary(arms=("fp16",))
    limited = tuple(replace(cell, client_verdict="client_limited") for cell in summary.cells)

    assert "var(--paper" not in over_load(summary, FIGURES[0], "")
    assert over_load(replace(summary, cells=limited), FIGURES[0], "").count("var(--paper") == 4


def test_a_change_of_lead_is_a_rule_with_shading_only_if_its_interval_is_known() -> None:
    summary = make_summary()
    # A place without an interval: the pair's own crossings are taken away, too.
    placed = over_load(summary, FIGURES[0], "")
    guessed = over_load(replace(summary, crossovers=()), FIGURES[0], "")

    assert placed.count('class="rule"') == guessed.count('class="rule"') == 1
    assert (placed.count('class="doubt"'), guessed.count('class="doubt"')) == (1, 0)
    assert "≈ 5.0" in guessed


def test_the_roofline_plot_has_both_ways_of_counting_under_one_roof() -> None:
    summary = explained(make_summary(failed=None))
    (roof,) = roofs(summary)
    drawn_spots = spots(summary)

    assert roof.operands == "fp32"
    assert roof.ridge == pytest.approx(30.0)
    assert len(drawn_spots) == 2 * 16
    # 4e8 FLOP in the 23 ms of fp16's only stream.
    first = next(spot for spot in drawn_spots if (spot.arm, spot.load, spot.convention) == ("fp16", "c1", "read"))
    assert first.tflops == pytest.approx(4e8 / 23e-3 / 1e12)
    assert first.intensity == pytest.approx(2.0)


def test_without_a_device_there_is_no_roofline_plot() -> None:
    assert under_roof(make_summary(), "") is None
