"""What every plot shares: its size, its axes with their grid, and the names of arms at the right edge."""

from collections.abc import Iterable, Mapping, Sequence

from rich.cells import cell_len

from whichbits.report.palette import Sign
from whichbits.report.plots.scale import Scale, apart
from whichbits.report.plots.series import spread
from whichbits.report.plots.svg import element, label, mark, path, words

WIDTH, LEFT, RIGHT, TOP, BOTTOM = 460.0, 46.0, 104.0, 34.0, 40.0
_LABEL_GAP = 15.0
_LONGEST_NAME = 18
_BEFORE_NAME = 28.0
_CELL = 8.6
"""Width of a character of a name in the widest of the usual fonts, DejaVu Sans Bold: no picture may cut a name."""
_TICK_GAP = 30.0


def sheet_width(arms: Iterable[str]) -> float:
    """Return the width of a picture beside whose plot these arms are named."""
    longest = max((cell_len(shortened(arm)) for arm in arms), default=0)
    return max(WIDTH, WIDTH - RIGHT + _BEFORE_NAME + _CELL * longest)


def value_axis(y: Scale) -> list[str]:
    """Return the grid and the values at its left."""
    drawn = []
    for tick in y.ticks():
        at = y.place(tick)
        drawn.append(path([(LEFT, at), (WIDTH - RIGHT, at)], class_="grid"))
        drawn.append(label(axis_text(tick), LEFT - 7, at + 4, text_anchor="end", class_="small"))
    return drawn


def load_axis(x: Scale, loads: Sequence[float], bottom: float, title: str) -> list[str]:
    """Return the loads below the plot, those that fit, and the axis' name."""
    places = [x.place(load) for load in loads]
    kept = [(axis_text(loads[at]), places[at]) for at in apart(places, _TICK_GAP)]
    drawn = [label(text, place, bottom + 17, text_anchor="middle", class_="small") for text, place in kept]
    line = path([(LEFT, bottom), (WIDTH - RIGHT, bottom)], class_="grid")
    middle = (LEFT + WIDTH - RIGHT) / 2
    return [line, *drawn, label(title, middle, bottom + 34, text_anchor="middle", class_="small")]


def names(ends: Mapping[str, tuple[float, float]], palette: Mapping[str, Sign], bottom: float) -> list[str]:
    """Name each line at the right edge, names kept apart; ``ends`` are the pixels where lines end."""
    placed = spread([y for _, y in ends.values()], _LABEL_GAP, TOP, bottom)
    drawn = []
    for (arm, (x, y)), at in zip(ends.items(), placed, strict=True):
        edge = WIDTH - RIGHT
        # From a line that ends early, a leader would cut through the lines that go on.
        if x > edge - 12:
            drawn.append(path([(x + 5, y), (edge + 13, at)], stroke=palette[arm].colour, stroke_opacity=0.6))
        drawn.append(mark(palette[arm], edge + 19, at, arm))
        title = element("title", words(arm))
        drawn.append(element("text", title, words(shortened(arm)), x=edge + _BEFORE_NAME, y=at + 4, class_="name"))
    return drawn


def shortened(name: str) -> str:
    """Return a name that fits beside a plot."""
    return name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"


def axis_text(value: float) -> str:
    """Return a value of an axis: ``0.5``, ``200``, ``12k``."""
    if value >= 10_000:
        return f"{value / 1000:g}k"
    return f"{value:.10g}"
