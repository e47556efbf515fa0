"""The roofline plot: FLOP/s that decode steps attain over their intensity, under what the device does at most."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from whichbits.analyze.summary import Summary
from whichbits.language.language import Say
from whichbits.language.phrase import listed, phrase
from whichbits.report.palette import Sign, signs
from whichbits.report.plots.frame import BOTTOM, LEFT, RIGHT, TOP, WIDTH, axis_text, names, sheet_width, value_axis
from whichbits.report.plots.scale import Scale, around
from whichbits.report.plots.svg import drawing, label, mark, path
from whichbits.report.sheets.roofline import accounted, known
from whichbits.report.wording import number

CONVENTIONS = {"read": phrase("bytes read"), "loaded": phrase("weights loaded")}
_HEIGHT = 260.0


@dataclass(frozen=True)
class Spot:
    """One arm at one load by one way of counting: FLOP a byte, and TFLOP/s attained."""

    arm: str
    load: str
    convention: str
    intensity: float
    tflops: float


@dataclass(frozen=True)
class Roof:
    """What a device does at most with operands of one kind."""

    operands: str
    tflops: float
    gb_s: float

    @property
    def ridge(self) -> float:
        """FLOP a byte at which arithmetic takes as long as reading."""
        return 1e3 * self.tflops / self.gb_s


def spots(summary: Summary) -> tuple[Spot, ...]:
    """Return what there is to draw, the loads of an arm and way of counting side by side."""
    found = []
    for convention in CONVENTIONS:
        for each in known(summary):
            intensity = each.median(accounted(convention, lambda account: account.intensity))
            # TFLOP/s are FLOP a byte times GB/s.
            rate = each.median(accounted(convention, lambda account: account.intensity * account.effective_gb_s / 1e3))
            if intensity and rate:
                found.append(Spot(each.arm, each.load_text, convention, intensity, rate))
    return tuple(found)


def under_roof(summary: Summary, description: str, say: Say = str) -> str | None:
    """Return the plot; None if no step can be held against a device."""
    drawn = spots(summary)
    if not drawn:
        return None
    bottom, palette, above = TOP + _HEIGHT, signs(tuple(summary.arms)), roofs(summary)
    x = around(
        [*(spot.intensity for spot in drawn), *(2 * roof.ridge for roof in above)], LEFT, WIDTH - RIGHT, log=True
    )
    y = around([*(spot.tflops for spot in drawn), *(roof.tflops for roof in above)], bottom, TOP, log=True)
    content = [*value_axis(y), *_intensities(x, bottom, say), *_roofs(above, x, y, say)]
    content += [part for spot in _lines(drawn) for part in _line(spot, palette[spot[0].arm], x, y, say)]
    ends = {s.arm: (x.place(s.intensity), y.place(s.tflops)) for s in drawn if s.convention == drawn[0].convention}
    content += names(ends, palette, bottom)
    return drawing(sheet_width(ends), bottom + BOTTOM, *content, description=say(description))


def roofs(summary: Summary) -> tuple[Roof, ...]:
    """Return the roofs that the arms are under, the highest first."""
    found = {
        (cell.roofline.number_type, cell.roofline.peak_tflops, cell.roofline.bandwidth_gb_s)
        for cell in summary.cells
        if cell.roofline
    }
    alike: dict[tuple[float, float], list[str]] = {}
    for operands, tflops, gb_s in sorted(found):
        alike.setdefault((tflops, gb_s), []).append(operands)
    return tuple(Roof(listed(operands), *peak) for peak, operands in sorted(alike.items(), reverse=True))


def _lines(drawn: Sequence[Spot]) -> Iterator[tuple[Spot, ...]]:
    for _, group in groupby(drawn, key=lambda spot: (spot.convention, spot.arm)):
        yield tuple(group)


def _line(group: Sequence[Spot], sign: Sign, x: Scale, y: Scale, say: Say) -> Iterator[str]:
    read = group[0].convention == "read"
    places = [(x.place(spot.intensity), y.place(spot.tflops)) for spot in group]
    style = {"stroke_width": 1.6} if read else {"stroke_dasharray": "3 3", "stroke_opacity": 0.7}
    yield path(places, stroke=sign.colour, fill="none", **style)
    for spot, (left, top) in zip(group, places, strict=True):
        yield mark(sign, left, top, say(_said(spot)), filled=read)


def _said(spot: Spot) -> str:
    return phrase(
        "{arm} at {load}, {convention}: {intensity} FLOP/byte, {tflops} TFLOP/s",
        arm=spot.arm,
        load=spot.load,
        convention=CONVENTIONS[spot.convention],
        intensity=number(spot.intensity),
        tflops=number(spot.tflops),
    )


def _intensities(x: Scale, bottom: float, say: Say) -> Iterator[str]:
    yield path([(LEFT, bottom), (WIDTH - RIGHT, bottom)], class_="grid")
    for tick in x.ticks():
        yield label(axis_text(tick), x.place(tick), bottom + 17, text_anchor="middle", class_="small")
    yield label(
        say(phrase("FLOP per byte")), (LEFT + WIDTH - RIGHT) / 2, bottom + 34, text_anchor="middle", class_="small"
    )


def _roofs(above: Sequence[Roof], x: Scale, y: Scale, say: Say) -> Iterator[str]:
    for place, roof in enumerate(above):
        start = max(x.low, 1e3 * y.low / roof.gb_s)
        slope = [
            (start, start * roof.gb_s / 1e3),
            (min(roof.ridge, x.high), min(roof.tflops, x.high * roof.gb_s / 1e3)),
        ]
        corners = [*slope, (x.high, min(roof.tflops, x.high * roof.gb_s / 1e3))]
        places = [(x.place(intensity), y.place(tflops)) for intensity, tflops in corners]
        yield path(places, stroke="currentColor", stroke_width=1.5, fill="none")
        text = f"{say(roof.operands)} {number(roof.tflops)}"
        yield label(text, places[-1][0], places[-1][1] + (14 if place else -6), text_anchor="end", class_="small")
    if above:
        half = (x.low * above[0].ridge) ** 0.5
        at = x.place(half), y.place(half * above[0].gb_s / 1e3)
        yield label(f"{number(above[0].gb_s)} GB/s", at[0] - 6, at[1] - 6, text_anchor="end", class_="small")
