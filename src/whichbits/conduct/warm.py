"""Warming an arm by a rule that is the same for every arm: until its own step time is stable."""

import time
from statistics import median

from whichbits.conduct.addresses import targets
from whichbits.drive.cell import drive_cell
from whichbits.errors import ServerNotReady
from whichbits.record.schema import RequestRecord
from whichbits.serve.arm import RunningArm
from whichbits.study.model import Load, Study
from whichbits.traffic.plan import plan_warm_up


async def warm_up(study: Study, running: RunningArm) -> tuple[float, ...]:
    """Send rounds of the study's own traffic until two rounds' median TPOT agree; return those medians in ms."""
    rule = study.warm_up
    medians: list[float] = []
    for round_number in range(max(2, rule.at_most_requests // rule.at_least_requests)):
        medians.append(await _round_tpot_ms(study, running, round_number))
        if _stable(medians, rule.stable_within):
            break
    return tuple(medians)


def _stable(medians: list[float], within: float) -> bool:
    if len(medians) < 2:
        return False
    before, now = medians[-2:]
    return abs(now - before) <= within * before


async def _round_tpot_ms(study: Study, running: RunningArm, round_number: int) -> float:
    capture = await drive_cell(
        targets(running),
        plan_warm_up(study, round_number),
        Load(concurrency=study.warm_up.at_least_requests),
        study.limits,
        time.monotonic_ns(),
    )
    times = [tpot for record in capture.records if (tpot := tpot_ms(record)) is not None]
    if not times:
        failed = next((record for record in capture.records if record.error), None)
        raise ServerNotReady(
            "warm_up_failed",
            f"No warm-up request of arm '{running.record.arm}' succeeded: {failed.error if failed else 'no answer'}.",
            why="The server answers its health check but refuses or drops completions.",
            fix=f"Look at its log: {running.record.replicas[0].log}.",
        )
    return median(times)


def tpot_ms(record: RequestRecord) -> float | None:
    """Return the time per output token of a good request in ms, or None with fewer than two tokens."""
    tokens = sum(record.chunk_tokens)
    if not record.succeeded or tokens < 2:
        return None
    return (record.chunk_ns[-1] - record.chunk_ns[0]) / (tokens - 1) / 1e6
