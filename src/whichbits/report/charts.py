"""The charts as Vega-Lite specifications: one measure over load, one line an arm, changes of lead marked."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from whichbits.analyze.summary import Summary
from whichbits.report.measures import MEASURES, Measure
from whichbits.report.palette import signs
from whichbits.report.series import Change, Point, between, changes, line, points, spread
from whichbits.report.wording import LOAD_NAMES, number, plain, short_load

# Altair's methods lose their return types to mypy; a layer is what they make.
Drawing = Any

_LABEL_GAP_PX = 15.0
_LONGEST_LABEL = 16
_INK = "#4b5563"
_GRID = "#e5e7eb"


@dataclass(frozen=True)
class Figure:
    """One chart of the report; ``name`` is its file and element name."""

    name: str
    measure: Measure
    height: int


FIGURES: tuple[Figure, ...] = (
    Figure("tpot-p50", MEASURES["tpot_ms.p50"], 250),
    Figure("tpot-p99", MEASURES["tpot_ms.p99"], 250),
    Figure("ttft-p50", MEASURES["ttft_ms.p50"], 250),
    Figure("output-tokens-per-s", MEASURES["output_tokens_per_s"], 250),
    Figure("itl-p99", MEASURES["itl_ms.p99"], 160),
    Figure("mean-batch", MEASURES["mean_batch"], 160),
)


@dataclass(frozen=True)
class Axes:
    """The scales that a chart's layers share."""

    x: alt.X
    y_domain: tuple[float, float]
    y_log: bool
    height: int

    def y(self, field: str) -> alt.Y:
        """Return the value axis on ``field``."""
        scale = alt.Scale(type="log" if self.y_log else "linear", domain=self.y_domain, nice=False)
        ticks = {"values": _one_two_five(*self.y_domain)} if self.y_log else {"tickCount": 5}
        axis = alt.Axis(format=",~f", title=None, **ticks)
        return alt.Y(field, type="quantitative", scale=scale, axis=axis)

    def pixel(self, value: float) -> float:
        """Return how far below the top a value lies."""
        low, high = (_ln(end) if self.y_log else end for end in self.y_domain)
        share = ((_ln(value) if self.y_log else value) - low) / (high - low)
        return self.height * (1 - share)


def figures(summary: Summary) -> tuple[Figure, ...]:
    """Return the figures for which the summary holds at least one value."""
    return tuple(figure for figure in FIGURES if points(summary, figure.measure))


def chart(summary: Summary, figure: Figure, width: int | str = "container") -> dict[str, Any]:
    """Return the figure's Vega-Lite specification; ``width`` in pixels, or as wide as its container."""
    marks = points(summary, figure.measure)
    axes = _axes(summary, figure, marks)
    turns = changes(summary, figure.measure)
    layers = [
        *_change_layers(axes, turns),
        _lines(axes, summary, marks),
        *_interval_layer(axes, marks),
        _points(axes, summary, marks),
        *_crossing_layer(axes, summary, figure.measure, marks),
        *_label_layers(axes, summary, marks),
    ]
    drawing = alt.layer(*layers).properties(width=width, height=figure.height, padding=4)
    specification: dict[str, Any] = drawing.configure(**_STYLE).to_dict()
    return specification


def _axes(summary: Summary, figure: Figure, marks: Sequence[Point]) -> Axes:
    ends = [end for mark in marks for end in (mark.value, mark.low, mark.high) if end is not None]
    y_log = figure.measure.unit == "ms" and min(ends) > 0 and max(ends) / min(ends) > 20
    domain = (_round_down(min(ends)), _round_up(max(ends))) if y_log else (0.0, max(ends) * 1.08 or 1.0)
    return Axes(_x(summary, marks), domain, y_log, figure.height)


def _x(summary: Summary, marks: Sequence[Point]) -> alt.X:
    loads = sorted({mark.load for mark in marks})
    # A single load has no extent on a log axis: give it a factor of two on each side.
    domain = (loads[0], loads[-1]) if len(loads) > 1 else (loads[0] / 2, loads[0] * 2)
    return alt.X(
        "load",
        type="quantitative",
        scale=alt.Scale(type="log", domain=domain, nice=False, padding=6),
        axis=alt.Axis(values=loads, format=",~f", title=LOAD_NAMES[summary.load_unit].capitalize(), grid=False),
    )


def _lines(axes: Axes, summary: Summary, marks: Sequence[Point]) -> Drawing:
    rows = [
        {"arm": plain(arm), "load": load, "value": value} for arm in summary.arms for load, value in line(marks, arm)
    ]
    return _chart(rows).mark_line(strokeWidth=2, clip=False).encode(x=axes.x, y=axes.y("value"), color=_colour(summary))


def _points(axes: Axes, summary: Summary, marks: Sequence[Point]) -> Drawing:
    rows = [
        {
            "arm": plain(mark.arm),
            "load": mark.load,
            "value": mark.value,
            "written": number(mark.value),
            "fill": 1.0 if mark.trusted else 0.0,
        }
        for mark in marks
    ]
    arms = [plain(arm) for arm in summary.arms]
    shapes = [sign.shape for sign in signs(tuple(summary.arms)).values()]
    tooltip = [
        alt.Tooltip("arm:N", title="arm"),
        alt.Tooltip("load:Q", title="load"),
        alt.Tooltip("written:N", title="value"),
    ]
    return (
        _chart(rows)
        .mark_point(size=62, filled=True, strokeWidth=1.5, opacity=1)
        .encode(
            x=axes.x,
            y=axes.y("value"),
            color=_colour(summary),
            shape=alt.Shape("arm:N", scale=alt.Scale(domain=arms, range=shapes), legend=None),
            fillOpacity=alt.FillOpacity("fill:Q", scale=None),
            tooltip=tooltip,
        )
    )


def _interval_layer(axes: Axes, marks: Sequence[Point]) -> list[Drawing]:
    rows = [{"load": mark.load, "low": mark.low, "high": mark.high} for mark in marks if mark.low and mark.high]
    if not rows:
        return []
    bars = _chart(rows).mark_rule(color=_INK, opacity=0.55, strokeWidth=1.25)
    return [bars.encode(x=axes.x, y=axes.y("low"), y2="high:Q")]


def _change_layers(axes: Axes, turns: Sequence[Change]) -> list[Drawing]:
    if not turns:
        return []
    rows = [
        {
            "load": turn.load,
            "low": turn.low,
            "high": turn.high,
            "label": short_load(turn.load),
            "row": place % 2,
        }
        for place, turn in enumerate(turns)
    ]
    layers = [
        _chart(rows)
        .mark_rule(color=_INK, strokeDash=[4, 3], strokeWidth=1)
        .encode(x=axes.x, y=alt.value(0), y2=alt.value(axes.height)),
    ]
    bands = [row for row in rows if row["low"] is not None]
    if bands:
        band = _chart(bands).mark_rect(color=_INK, opacity=0.08)
        extent = {"x": alt.X("low:Q", scale=axes.x["scale"]), "x2": "high:Q"}
        layers.insert(0, band.encode(**extent, y=alt.value(0), y2=alt.value(axes.height)))
    for row in (0, 1):
        chosen = [entry for entry in rows if entry["row"] == row]
        if chosen:
            text = _chart(chosen).mark_text(dy=-7 - 13 * row, color=_INK, fontSize=11, fontWeight=600)
            layers.append(text.encode(x=axes.x, y=alt.value(0), text="label:N"))
    return layers


def _crossing_layer(axes: Axes, summary: Summary, measure: Measure, marks: Sequence[Point]) -> list[Drawing]:
    rows = []
    for crossover in summary.crossovers:
        if crossover.metric != measure.path or crossover.verdict != "crosses":
            continue
        for crossing in crossover.crossings:
            value = between(line(marks, crossover.arms[0]), crossing.load, y_log=axes.y_log)
            if value is not None:
                pair = " and ".join(plain(arm) for arm in crossover.arms)
                rows.append({"load": crossing.load, "value": value, "pair": pair, "at": short_load(crossing.load)})
    if not rows:
        return []
    tooltip = [alt.Tooltip("pair:N", title="cross"), alt.Tooltip("at:N", title="at load")]
    rings = _chart(rows).mark_point(shape="circle", size=90, filled=False, stroke=_INK, strokeWidth=1.25, opacity=0.8)
    return [rings.encode(x=axes.x, y=axes.y("value"), tooltip=tooltip)]


def _label_layers(axes: Axes, summary: Summary, marks: Sequence[Point]) -> list[Drawing]:
    """Name each line at the right edge, names kept apart, with a thin leader from the line's end."""
    ends = [(arm, *line(marks, arm)[-1]) for arm in summary.arms if line(marks, arm)]
    places = spread([axes.pixel(value) for _, _, value in ends], _LABEL_GAP_PX, 0, axes.height)
    last_load = max(load for _, load, _ in ends)
    layers = []
    for (arm, load, value), place in zip(ends, places, strict=True):
        sign = signs(tuple(summary.arms))[arm]
        row = _chart([{"load": load, "value": value, "label": _shortened(plain(arm))}])
        at = {"x": alt.value("width"), "y": alt.value(place)}
        key = row.mark_point(shape=sign.shape, size=55, filled=True, color=sign.colour, opacity=1, xOffset=18)
        text = row.mark_text(align="left", baseline="middle", dx=26, color=_INK, fontSize=12, fontWeight=600)
        layers += [key.encode(**at), text.encode(**at, text="label:N")]
        # From a line that ends early, a leader would cut through the lines that go on.
        if load == last_load:
            leader = row.mark_rule(color=sign.colour, opacity=0.6, strokeWidth=1, xOffset=5, x2Offset=12)
            layers.append(leader.encode(**at | {"x": axes.x, "x2": at["x"], "y": axes.y("value"), "y2": at["y"]}))
    return layers


def _colour(summary: Summary) -> alt.Color:
    palette = signs(tuple(summary.arms))
    scale = alt.Scale(domain=[plain(arm) for arm in palette], range=[sign.colour for sign in palette.values()])
    return alt.Color("arm:N", scale=scale, legend=None)


def _chart(rows: Sequence[dict[str, Any]]) -> Drawing:
    return alt.Chart(alt.InlineData(values=list(rows)))


def _shortened(name: str) -> str:
    return name if len(name) <= _LONGEST_LABEL else name[: _LONGEST_LABEL - 1] + "…"


def _one_two_five(low: float, high: float) -> list[float]:
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = [step * 10.0**decade for decade in decades for step in (1, 2, 5)]
    return [step for step in steps if low <= step <= high]


def _ln(value: float) -> float:
    return math.log(value)


def _round_down(value: float) -> float:
    decade = 10.0 ** math.floor(math.log10(value))
    return max(step * decade for step in (1, 2, 5) if step * decade <= value)


def _round_up(value: float) -> float:
    decade = 10.0 ** math.floor(math.log10(value))
    return min(step * decade for step in (1, 2, 5, 10) if step * decade >= value)


_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
_STYLE: dict[str, Any] = {
    "background": "transparent",
    "font": _FONT,
    "autosize": alt.AutoSizeParams(type="fit-x", contains="padding"),
    "view": alt.ViewConfig(stroke=None),
    "axis": alt.AxisConfig(
        labelColor=_INK,
        titleColor=_INK,
        labelFontSize=11,
        titleFontSize=11,
        titleFontWeight="normal",
        titlePadding=8,
        labelPadding=6,
        gridColor=_GRID,
        domainColor=_INK,
        ticks=False,
    ),
    "axisY": alt.AxisConfig(domain=False),
}
