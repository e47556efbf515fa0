"""What may still be believed where this client was late: what mocks were told beside what was measured of them."""

from collections.abc import Iterator

from whichbits.analyze.summary import CellSummary, Summary
from whichbits.language.phrase import phrase
from whichbits.serve.mock.settings import MockSettings
from whichbits.study.drawn_traffic import RandomTraffic
from whichbits.study.model import Study

_MOCK = "mock"


def how_late(summary: Summary, study: Study) -> str:
    """Return how far median TPOT is from what mocks were told, or else the command that finds this client's limit."""
    off = [abs(cell.tpot_ms.p50 / told - 1) for cell, told in _told(summary, study) if cell.tpot_ms.p50 is not None]
    if not off:
        return phrase("`whichbits load --self-test` says up to how many streams this machine can be trusted.")
    return phrase(
        "Where it is known what the mocks were told, median TPOT came out at most {worst:.1%} off; tails and TTFT may "
        "be further off. `whichbits load --self-test` says up to how many streams this machine can be trusted.",
        worst=max(off),
    )


def _told(summary: Summary, study: Study) -> Iterator[tuple[CellSummary, float]]:
    """Yield cells with the TPOT in ms that their mock was ordered to keep."""
    for cell in summary.cells:
        arm = study.arms[cell.arm]
        if arm.engine == _MOCK and arm.target is None and cell.state == "done":
            batch = _batch(cell, study)
            options = MockSettings.of(arm.options)
            plain = not options.faults and options.tokens_per_chunk == options.events_per_send == 1
            if plain and (batch is not None or not options.itl_per_running_ms):
                yield cell, options.itl_ms + options.itl_per_running_ms * (batch or 0)


def _batch(cell: CellSummary, study: Study) -> int | None:
    """Return how many requests run together all the time, None where that changes: only equal ones end together."""
    if cell.request_rate is not None or cell.concurrency is None:
        return None
    alike = isinstance(study.traffic, RandomTraffic) and study.traffic.range_ratio == 0
    return cell.concurrency if cell.concurrency == 1 or alike else None
