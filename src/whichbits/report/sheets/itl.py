"""Whether gaps between tokens come in two kinds, and what a neighbour's prefill adds to a step."""

from whichbits.analyze.latency.itl_modes import ItlMode
from whichbits.analyze.summary import CellSummary, Summary
from whichbits.language.phrase import phrase
from whichbits.record.schema import Manifest
from whichbits.report.cells.pooled import by_arm
from whichbits.report.sheets.sheet import Sheet
from whichbits.report.wording import MISSING, number, share_text

_HEADINGS = (
    phrase("arm"),
    phrase("load"),
    phrase("median ms"),
    phrase("mean ms"),
    phrase("p99 ms"),
    phrase("short ms"),
    phrase("long ms"),
    phrase("time in long"),
    phrase("steps with prefill"),
    phrase("with ms"),
    phrase("without ms"),
)
_OF_THE_LONG = (5, 6, 7)
_ONE = phrase("By their lengths alone, the gaps of each cell form one heap.")
_TWO = phrase("The gaps of some cells form two heaps, short and long: middle of each and its share of all gaps.")


def itl_kinds(summary: Summary, _: Manifest) -> Sheet | None:
    """Return a row an arm and load, of its first repeat; None without gaps."""
    first = [each.counted[0] for each in by_arm(summary)]
    texts = [each.load_text for each in by_arm(summary)]
    rows = [_row(cell, load) for cell, load in zip(first, texts, strict=True) if cell.itl_modes or cell.prefill_steps]
    if not rows:
        return None
    of_two = any(cell.itl_modes and len(cell.itl_modes.modes) > 1 for cell in first)
    shown = [place for place in range(len(_HEADINGS)) if of_two or place not in _OF_THE_LONG]
    return Sheet(
        name="itl",
        title=phrase("Kinds of gaps between tokens"),
        meaning=phrase(
            "{kinds} A step that also prefills a neighbour's prompt takes longer; where that is a kind of its "
            "own, median and mean tell different stories. (Of the first repeat.)",
            kinds=_TWO if of_two else _ONE,
        ),
        headings=tuple(_HEADINGS[place] for place in shown),
        rows=tuple(tuple(row[place] for place in shown) for row in rows),
        words=2,
    )


def _row(cell: CellSummary, load: str) -> tuple[str, ...]:
    modes, steps = cell.itl_modes, cell.prefill_steps
    kinds = modes.modes if modes else ()
    return (
        cell.arm,
        load,
        *(number(value) for value in (cell.itl_ms.p50, cell.itl_ms.mean, cell.itl_ms.p99)),
        _kind(kinds[0]) if kinds else MISSING,
        _kind(kinds[1]) if len(kinds) > 1 else phrase("none") if kinds else MISSING,
        share_text(modes.long_time_share if modes else None),
        share_text(steps.share if steps else None),
        number(steps.with_prefill_ms if steps else None),
        number(steps.without_prefill_ms if steps else None),
    )


def _kind(mode: ItlMode) -> str:
    return phrase("{center_ms} ({share})", center_ms=number(mode.center_ms), share=share_text(mode.share))
