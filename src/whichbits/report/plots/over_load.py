"""A measure over load: a line an arm, its interval as a band, and where the lead changes."""

from collections.abc import Iterator, Sequence

from whichbits.analyze.summary import Summary
from whichbits.language.language import Say
from whichbits.language.phrase import phrase
from whichbits.report.palette import signs
from whichbits.report.plots.figures import Figure
from whichbits.report.plots.frame import BOTTOM, LEFT, RIGHT, TOP, WIDTH, load_axis, names, sheet_width, value_axis
from whichbits.report.plots.scale import Scale, across, apart, around
from whichbits.report.plots.series import Change, Point, changes, points, typical
from whichbits.report.plots.svg import drawing, element, label, mark, path
from whichbits.report.wording import LOAD_NAMES, number, short_load

_WIDE_RANGE = 20
"""Times of highest over lowest from which on a linear axis would hide the lower values."""
_FLAT = 90
_CHANGE_GAP = 34.0


def over_load(summary: Summary, figure: Figure, description: str, say: Say = str) -> str:
    """Return the plot, its words as ``say`` says them; the figure must have points."""
    marks = points(summary, figure.measure)
    loads = sorted({each.load for each in marks})
    # A single load has no course to follow.
    bottom = TOP + (figure.height if len(loads) > 1 else _FLAT)
    x = across(loads, LEFT + 8, WIDTH - RIGHT - 8)
    y = _values(marks, figure.measure.unit == "ms", bottom)
    palette = signs(tuple(summary.arms))
    lines = {arm: typical(marks, arm) for arm in palette}
    content = [
        *value_axis(y),
        *load_axis(x, loads, bottom, say(LOAD_NAMES[summary.load_unit])),
        *_changes(changes(summary, figure.measure), x, bottom),
    ]
    for arm, series in lines.items():
        content += _band(series, palette[arm].colour, x, y)
    for arm, series in lines.items():
        places = [(x.place(point.load), y.place(point.value)) for point in series]
        content.append(path(places, stroke=palette[arm].colour, stroke_width=2, fill="none")) if places else None
    for arm, series in lines.items():
        content += [
            mark(palette[arm], x.place(point.load), y.place(point.value), say(_said(point)), filled=point.trusted)
            for point in series
        ]
    ends = {arm: (x.place(at[-1].load), y.place(at[-1].value)) for arm, at in lines.items() if at}
    content += names(ends, palette, bottom)
    return drawing(sheet_width(ends), bottom + BOTTOM, *content, description=say(description))


def _values(marks: Sequence[Point], is_time: bool, bottom: float) -> Scale:
    ends = [end for each in marks for end in (each.value, each.low, each.high) if end is not None]
    log = is_time and min(ends) > 0 and max(ends) / min(ends) > _WIDE_RANGE
    return around(ends, bottom, TOP, log=log)


def _band(series: Sequence[Point], colour: str, x: Scale, y: Scale) -> Iterator[str]:
    """Draw the intervals as a band where there are several side by side, else as bars."""
    known = [(x.place(point.load), point.low, point.high) for point in series]
    sure = [(at, low, high) for at, low, high in known if low is not None and high is not None]
    if len(sure) > 1:
        there = [(at, y.place(high)) for at, _, high in sure]
        back = [(at, y.place(low)) for at, low, _ in reversed(sure)]
        yield path([*there, *back], closed=True, fill=colour, fill_opacity=0.15)
    for at, low, high in sure:
        yield path([(at, y.place(low)), (at, y.place(high))], stroke=colour, stroke_opacity=0.5)


def _changes(turns: Sequence[Change], x: Scale, bottom: float) -> Iterator[str]:
    places = [x.place(turn.load) for turn in turns]
    labelled = set(apart(places, _CHANGE_GAP))
    for at, turn in enumerate(turns):
        if turn.low is not None and turn.high is not None:
            left, right = x.place(turn.low), x.place(turn.high)
            yield element("rect", x=left, y=TOP, width=right - left, height=bottom - TOP, class_="doubt")
        yield path([(places[at], TOP - 4), (places[at], bottom)], class_="rule")
        if at in labelled:
            text = short_load(turn.load) if turn.low is not None else f"≈ {short_load(turn.load)}"
            yield label(text, places[at], TOP - 9, text_anchor="middle", class_="name small")


def _said(point: Point) -> str:
    ends = (number(point.low), number(point.high))
    between = "" if point.low is None else phrase(" ({low} to {high})", low=ends[0], high=ends[1])
    at, value = short_load(point.load), number(point.value)
    return phrase("{arm} at {load}: {value}{between}", arm=point.arm, load=at, value=value, between=between)
