"""Warming an arm by a rule that is the same for every arm: until its own step time is stable."""

import time
from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

from whichbits.conduct.arms.addresses import targets
from whichbits.drive.cell import CellCapture, drive_cell
from whichbits.drive.crew.crew import Crew
from whichbits.errors import ServerNotReady
from whichbits.record.schema import RequestRecord
from whichbits.serve.arm import RunningArm
from whichbits.study.model import Load, Study
from whichbits.traffic.plan import PlannedRequest, plan_warm_up


class Warmth(NamedTuple):
    """The rounds' median pace in ms, and whether any answer told its tokens: else somebody else must count them.

    ``stable`` is False if it gave up before two rounds agreed; ``seconds`` is how long it all took.
    """

    medians_ms: tuple[float, ...]
    tells_usage: bool
    stable: bool
    seconds: float


async def warm_up(study: Study, running: RunningArm, crew: Crew, visit: int = 0) -> Warmth:
    """Send rounds of the study's own traffic until two rounds' median pace agree.

    The pace is TPOT, or TTFT where answers have a single token. Each ``visit`` of a server has prompts of its own.
    Raises ServerNotReady if a round has no good answer.
    """
    rule, began_ns = study.warm_up, time.monotonic_ns()
    medians: list[float] = []
    tells_usage = False
    for round_number in range(max(1, rule.at_most_requests // rule.at_least_requests)):
        good = await _round(study, running, crew, plan_warm_up(study, round_number, visit))
        medians.append(_pace_ms(good))
        tells_usage = tells_usage or any(record.output_tokens is not None for record in good)
        if _stable(medians, rule.stable_within):
            break
    seconds = (time.monotonic_ns() - began_ns) / 1e9
    return Warmth(tuple(medians), tells_usage, _stable(medians, rule.stable_within), seconds)


def _stable(medians: list[float], within: float) -> bool:
    if len(medians) < 2:
        return False
    before, now = medians[-2:]
    return abs(now - before) <= within * before


async def _round(
    study: Study, running: RunningArm, crew: Crew, planned: Sequence[PlannedRequest]
) -> list[RequestRecord]:
    """Return the good answers of a round."""
    capture = await drive_cell(
        targets(running, study.request),
        planned,
        Load(concurrency=study.warm_up.at_least_requests),
        study.limits,
        time.monotonic_ns(),
        crew=crew,
    )
    good = [record for record in capture.records if record.succeeded]
    if not good:
        raise _refused(running, capture)
    return good


def _pace_ms(good: list[RequestRecord]) -> float:
    steps = [tpot for record in good if (tpot := tpot_ms(record)) is not None]
    return median(steps or [_ttft_ms(record) for record in good])


def _refused(running: RunningArm, capture: CellCapture) -> ServerNotReady:
    failed = next((record for record in capture.records if record.error), None)
    return ServerNotReady(
        "warm_up_failed",
        f"no warm-up request succeeded: {failed.error if failed else 'no answer'}",
        why="the server answers its health check but refuses or drops completions",
        fix=f"look at its log: {running.fleet.replicas[0].log or 'where the server was started'}",
    )


def tpot_ms(record: RequestRecord) -> float | None:
    """Return the time per output token of a good request in ms; None with fewer than two tokens, or all in one read."""
    tokens = sum(record.chunk_tokens)
    if not record.succeeded or tokens < 2 or record.chunk_ns[0] == record.chunk_ns[-1]:
        return None
    return (record.chunk_ns[-1] - record.chunk_ns[0]) / (tokens - 1) / 1e6


def _ttft_ms(record: RequestRecord) -> float:
    """Return the time to the first token of a good request in ms."""
    return (record.chunk_ns[0] - record.scheduled_ns) / 1e6
