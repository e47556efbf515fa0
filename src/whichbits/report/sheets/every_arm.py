"""Every arm in a line, where there are too many to show each at length."""

from collections.abc import Sequence

from whichbits.analyze.crossings.foremost import MOST_ARMS, nearest_first
from whichbits.analyze.summary import Summary
from whichbits.language.phrase import phrase
from whichbits.report.cells.measures import MEASURES
from whichbits.report.cells.pooled import Pooled, by_arm
from whichbits.report.sheets.sheet import Sheet
from whichbits.report.wording import number

_PACE, _WORK = MEASURES["tpot_ms.p50"], MEASURES["output_tokens_per_s"]


def every_arm(summary: Summary) -> Sheet | None:
    """Return an arm a row, those that lead at most loads first; None where tables show every arm anyway."""
    if len(summary.arms) <= MOST_ARMS:
        return None
    met: dict[str, list[Pooled]] = {}
    for each in by_arm(summary):
        met.setdefault(each.arm, []).append(each)
    return Sheet(
        name="every-arm",
        title=phrase("Every arm in a line"),
        meaning=phrase(
            "Medians at the lowest and the highest load that each arm met, TPOT in ms and output in tokens/s; the arms "
            "that lead at most loads come first, then those that come nearest to a lead."
        ),
        headings=(
            phrase("arm"),
            phrase("format"),
            phrase("lowest load"),
            "TPOT p50",
            phrase("highest load"),
            "TPOT p50",
            phrase("output"),
        ),
        rows=tuple(
            (arm, summary.arms[arm].weight_format, *_ends(met.get(arm, ())))
            for arm in nearest_first(summary.cells, tuple(summary.arms))
        ),
        words=2,
    )


def _ends(loads: Sequence[Pooled]) -> tuple[str, ...]:
    if not loads:
        return (number(None),) * 5
    low, high = loads[0], loads[-1]
    return (
        low.load_text,
        number(low.median(_PACE.read)),
        high.load_text,
        number(high.median(_PACE.read)),
        number(high.median(_WORK.read)),
    )
