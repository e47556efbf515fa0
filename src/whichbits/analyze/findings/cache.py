"""Was the prefix cache in the state that the study asked for?"""

from collections.abc import Iterator

from whichbits.analyze.amounts import cells_of
from whichbits.analyze.cache.hits import SLACK, beyond
from whichbits.analyze.findings.observed import Observed, evidence, place
from whichbits.analyze.summary import CellSummary, Finding
from whichbits.language.phrase import phrase

_UNVERIFIED = "unverified"
"""How the state of a cell's cache begins where no server confirmed it."""


def unverified_resets(observed: Observed) -> Iterator[Finding]:
    """Name the cells that were to be cold, and are shown to be neither by a server's word nor by their hit rates.

    Of those that ``not_cold`` names, more is known than that.
    """
    known_warm = {cell.cell for cell in _warm(observed)}
    for state, cells in _unconfirmed(observed).items():
        doubtful = [cell for cell in cells if not _shown_cold(cell) and cell.cell not in known_warm]
        if doubtful:
            text = phrase(
                "In {cells} the prefix cache was not shown to be empty: {state}.",
                cells=cells_of(len(doubtful), len(observed.done)),
                state=state,
            )
            yield Finding("observed", "cache_reset_unverified", text, evidence(doubtful))


def shown_resets(observed: Observed) -> Iterator[Finding]:
    """Say in one line which resets nobody confirmed, though the hit rates show that nothing was left to find."""
    for state, cells in _unconfirmed(observed).items():
        cold = [cell for cell in cells if _shown_cold(cell)]
        if cold:
            text = phrase(
                "In {cells} the hit rate shows that the prefix cache held nothing of earlier cells, though no reset "
                "was confirmed: {state}.",
                cells=cells_of(len(cold), len(observed.done)),
                state=state,
            )
            yield Finding("observed", "cache_reset_shown", text, evidence(cold))


def _unconfirmed(observed: Observed) -> dict[str, list[CellSummary]]:
    """Group the cells whose reset nobody confirmed by what the servers said."""
    states = {cell.cell: cell.cache_state or "" for cell in observed.manifest.cells}
    found: dict[str, list[CellSummary]] = {}
    for cell in observed.done:
        label, _, said = states.get(cell.cell, "").partition(": ")
        if label == _UNVERIFIED:
            found.setdefault(said, []).append(cell)
    return found


def _shown_cold(cell: CellSummary) -> bool:
    """Return whether the hit rate is the one of an empty cache, told narrowly enough to be a proof.

    Where nobody recorded which replica got a request, the expectation may be too wide to tell warm from cold.
    """
    if not cell.hit_rate_as_expected or cell.expected_prefix_hit_rate is None:
        return False
    low, high = cell.expected_prefix_hit_rate
    return high - low <= SLACK


def unknown_cache(observed: Observed) -> Iterator[Finding]:
    """Say where nobody knows how much of the prompts came from a cache."""
    unknown = [cell for cell in observed.done if cell.prefix_hit_rate is None]
    if unknown:
        text = phrase(
            "Neither the answers nor the engine's counters say how many prompt tokens came from the prefix "
            "cache in {cells}.",
            cells=cells_of(len(unknown), len(observed.done)),
        )
        settled = phrase("an engine that counts prefix hits in /metrics, or tells cached tokens in its answers")
        yield Finding("unresolved", "cache_unknown", text, evidence(unknown), settled)


def not_cold(observed: Observed) -> Iterator[Finding]:
    """Name the cells that should be cold, and found more in the prefix cache than their own traffic puts there."""
    warm = _warm(observed)
    if warm:
        text = phrase(
            "In {cells} the prefix cache was not cold: {most}.",
            cells=cells_of(len(warm), len(observed.done)),
            most=_most(warm),
        )
        yield Finding("observed", "cache_not_cold", text, evidence(warm))


def unexpected_hits(observed: Observed) -> Iterator[Finding]:
    """Name the cells whose hit rate is not what their traffic and the cache's capacity give, but for those not cold."""
    warm = {cell.cell for cell in _warm(observed)}
    odd = [cell for cell in observed.done if _beyond(cell) and cell.cell not in warm]
    if odd:
        text = phrase(
            "In {cells} the prefix hit rate is not the expected one: {most}.",
            cells=cells_of(len(odd), len(observed.done)),
            most=_most(odd),
        )
        yield Finding("observed", "hit_rate_unexpected", text, evidence(odd))


def _warm(observed: Observed) -> list[CellSummary]:
    """Return the cells that were to be cold, and found more than their own traffic puts into a cache.

    Where others of the run found less than theirs, the expectation is off rather than a cache warm: none is named.
    """
    found = [_beyond(cell) for cell in observed.done]
    if observed.manifest.study.get("cache") == "warm" or any(off < 0 for off in found):
        return []
    return [cell for cell, off in zip(observed.done, found, strict=True) if off > 0]


def _beyond(cell: CellSummary) -> float:
    """Return how far the measured rate lies outside the expected ones; 0 inside them, or if one is not known."""
    if cell.prefix_hit_rate is None or cell.expected_prefix_hit_rate is None:
        return 0.0
    return beyond(cell.prefix_hit_rate, cell.expected_prefix_hit_rate)


def _most(cells: list[CellSummary]) -> str:
    """Describe the cell that lies furthest off."""
    cell = max(cells, key=lambda cell: abs(_beyond(cell)))
    low, high = cell.expected_prefix_hit_rate or (0.0, 0.0)
    expected = f"{low:.1%}" if low == high else phrase("{low:.1%} to {high:.1%}", low=low, high=high)
    return phrase(
        "{prefix_hit_rate:.1%} of prompt tokens in {place}, expected {expected}",
        prefix_hit_rate=cell.prefix_hit_rate or 0.0,
        place=place(cell),
        expected=expected,
    )
