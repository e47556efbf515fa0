"""How much of the prompts each arm found in its prefix cache, beside what the planned traffic explains."""

from whichbits.analyze.summary import CellSummary, Summary
from whichbits.language.phrase import phrase
from whichbits.record.schema import Manifest
from whichbits.report.cells.pooled import Pooled, by_arm
from whichbits.report.sheets.sheet import Sheet
from whichbits.report.wording import MISSING, share_text

_ANSWERS = {True: phrase("yes"), False: phrase("no"), None: MISSING}


def hit_rates(summary: Summary, _: Manifest) -> Sheet | None:
    """Return a row an arm and load; where nothing was ever found, a row an arm; None if no engine tells."""
    known = [each for each in by_arm(summary) if each.median(_rate) is not None]
    if not known:
        return None
    cold = all(cell.prefix_hit_rate == 0 for each in known for cell in each.counted)
    return Sheet(
        name="hit-rates",
        title=phrase("Prefix cache"),
        meaning=phrase(
            "Tokens found over tokens looked up, by the engine's counters; all replicas together. Expected "
            "is what the planned traffic explains at this size of cache."
        ),
        headings=(phrase("arm"), phrase("load"), phrase("hit rate"), phrase("expected"), phrase("as expected")),
        rows=tuple(_cold_rows(known)) if cold else tuple(_row(each) for each in known),
        words=2,
    )


def expected_text(cell: CellSummary) -> str:
    """Return the expected rate: ``30.5%``, or ``0.0% to 30.5%``."""
    if cell.expected_prefix_hit_rate is None:
        return MISSING
    low, high = map(share_text, cell.expected_prefix_hit_rate)
    return low if low == high else phrase("{low} to {high}", low=low, high=high)


def _row(each: Pooled) -> tuple[str, ...]:
    cell = each.counted[0]
    return (each.arm, each.load_text, share_text(each.median(_rate)), expected_text(cell), _agreed(each.counted))


def _cold_rows(known: list[Pooled]) -> list[tuple[str, ...]]:
    arms: dict[str, list[CellSummary]] = {}
    for each in known:
        arms.setdefault(each.arm, []).extend(each.counted)
    return [
        (arm, phrase("all"), share_text(0.0), expected_text(cells[0]), _agreed(tuple(cells)))
        for arm, cells in arms.items()
    ]


def _agreed(cells: tuple[CellSummary, ...]) -> str:
    """Return whether every cell is as expected: one that is not, or not known, decides."""
    answers = {cell.hit_rate_as_expected for cell in cells}
    return _ANSWERS[False if False in answers else None if None in answers else True]


def _rate(cell: CellSummary) -> float | None:
    return cell.prefix_hit_rate
