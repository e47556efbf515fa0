"""Requests that miss the SLO because a closed loop sends its first wave at once."""

from collections.abc import Iterator

from whichbits.analyze.curves.slo import SHARE
from whichbits.analyze.findings.observed import Observed, each, places
from whichbits.analyze.summary import CellSummary, Finding
from whichbits.language.phrase import phrase

_MOST = 0.9
"""Of the misses of a cell, the share from which on they are those of its opening."""


def missed_at_start(observed: Observed) -> Iterator[Finding]:
    """Name the cells that break the SLO by their opening wave: how they hold it once they run is another question."""
    cells = [cell for cell in observed.cells if _is_broken_by_its_start(cell)]
    if cells:
        text = phrase(
            "Nearly all requests that miss the SLO are of the opening wave in {places}: as many as there are streams, "
            "sent at once. Of later ones {share:.0%} hold it.",
            places=places(cells),
            share=SHARE,
        )
        yield Finding(
            "unresolved", "slo_missed_at_start", text, each(cells, _words), phrase("longer cells, or an open loop")
        )


def _missed(cell: CellSummary) -> int:
    return round((1 - (cell.slo_share or 0.0)) * cell.requests)


def _is_broken_by_its_start(cell: CellSummary) -> bool:
    at_start, streams = cell.slo_misses_at_start, cell.concurrency or 0
    if cell.state != "done" or cell.slo_share is None or not at_start or not 1 < streams < cell.requests:
        return False
    later, allowed = _missed(cell) - at_start, (1 - SHARE) * (cell.requests - streams)
    return cell.slo_share < SHARE and later <= (1 - _MOST) * _missed(cell) and later <= allowed


def _words(cell: CellSummary) -> str:
    return phrase(
        "{at_start} of {missed} misses among the first {streams} of {requests}",
        at_start=cell.slo_misses_at_start,
        missed=_missed(cell),
        streams=cell.concurrency,
        requests=cell.requests,
    )
