"""What a cell will send, decided before anything is sent and equal for every arm."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from whichbits.study.arrivals import TraceArrivals
from whichbits.study.drawn_traffic import (
    ChatTraffic,
    PrefixRepetitionTraffic,
    RandomTraffic,
    SessionsTraffic,
    SharedPromptTraffic,
)
from whichbits.study.model import CellSize, Load, Study
from whichbits.study.recorded_traffic import JsonlTraffic, RunTraffic, ShareGptTraffic, TraceTraffic
from whichbits.study.traffic import AnyTraffic
from whichbits.traffic import drawn
from whichbits.traffic.arrivals import drawn_offsets_ns, request_count
from whichbits.traffic.asked import Asked
from whichbits.traffic.draws import Draws
from whichbits.traffic.facts import refuse_changed
from whichbits.traffic.jsonl import jsonl, jsonl_facts
from whichbits.traffic.kept_trace import trace_facts
from whichbits.traffic.replay import replay, replay_count, replay_facts, replayed
from whichbits.traffic.request import Message, PlannedRequest
from whichbits.traffic.sessions import sessions
from whichbits.traffic.sharegpt import sharegpt, sharegpt_facts
from whichbits.traffic.trace import trace, trace_offsets_ns

__all__ = ["Message", "PlannedRequest", "plan_cell", "plan_warm_up", "request_count", "traffic_facts"]


def plan_cell(study: Study, load: Load, repeat: int) -> list[PlannedRequest]:
    """Return the requests of one cell: the same for every arm, with other prompts in every cell.

    Lengths, times and the rows of a file depend on the seed and the load alone: a repeat is the same work again, so
    that what differs between repeats is the machine. Token ids, and the line in front of words, depend on the repeat
    as well: no cell finds another's prompts in a cache.

    Raises:
        BadInput: a file or run that the traffic comes from cannot be used.
    """
    count = _count(study, load, repeat)
    requests = _KINDS[type(study.traffic)](study.traffic, Asked(study, load, repeat, count))
    if load.request_rate is None or isinstance(study.traffic, RunTraffic):
        return requests
    return _timed(requests, study, load)


_ROUNDS = 100_000
"""More rounds than any warm-up has."""


def plan_warm_up(study: Study, round_number: int, visit: int = 0) -> list[PlannedRequest]:
    """Return a round of warm-up: the study's own traffic at a middle load, with ids that no cell uses.

    ``visit`` tells warm-ups of one server apart: a later one must not find an earlier one's prompts in a cache.
    """
    load = Load(concurrency=study.warm_up.at_least_requests)
    size = CellSize(requests=study.warm_up.at_least_requests)
    rehearsal = study.model_copy(update={"cell": size, "cache": "salt"})
    planned = plan_cell(rehearsal, load, -1 - round_number - _ROUNDS * visit)
    # Turns of a session are sent at once, too: nobody waits for people to think before anything is measured.
    return [replace(request, follows=None, think_ns=0) for request in planned]


def traffic_facts(study: Study) -> dict[str, Any]:
    """Return what a run records of its traffic's files: which bytes, what was usable; empty where there are none.

    Raises:
        BadInput: a file or run that the traffic comes from cannot be used.
    """
    facts: dict[str, Any] = {}
    match study.traffic:
        case ShareGptTraffic() as traffic:
            facts = sharegpt_facts(traffic)
        case JsonlTraffic() as traffic:
            facts = jsonl_facts(traffic, study.request.prompt == "text")
        case TraceTraffic() as traffic:
            facts = trace_facts(traffic.path, (traffic.longest_input, traffic.longest_output))
        case RunTraffic() as traffic:
            facts = replay_facts(traffic)
            _refuse_changed_source(traffic)
        case _:
            pass
    if isinstance(study.arrivals, TraceArrivals) and study.arrivals.path is not None:
        facts["arrivals"] = trace_facts(study.arrivals.path)
    return facts


def _refuse_changed_source(traffic: RunTraffic) -> None:
    source = replayed(traffic)
    if source.study is not None:
        refuse_changed(source.manifest.traffic, traffic_facts(source.study))


def _count(study: Study, load: Load, repeat: int) -> int:
    if isinstance(study.traffic, RunTraffic) and study.cell.requests is None and repeat >= 0:
        return replay_count(study.traffic, load)
    return request_count(study.cell, load, study.arrivals)


def _timed(requests: list[PlannedRequest], study: Study, load: Load) -> list[PlannedRequest]:
    """Give each request its offset; later turns of a session have none, and sessions begin at the rate that leaves."""
    beginning = [request.index for request in requests if request.follows is None]
    rate = (load.request_rate or 0.0) * len(beginning) / len(requests)
    offsets = dict(zip(beginning, _offsets_ns(study, load, rate, len(beginning)), strict=True))
    return [replace(request, offset_ns=offsets.get(request.index)) for request in requests]


def _offsets_ns(study: Study, load: Load, rate: float, count: int) -> list[int]:
    arrivals, traffic = study.arrivals, study.traffic
    if not isinstance(arrivals, TraceArrivals):
        return drawn_offsets_ns(arrivals, Draws(study.seed, "arrivals", str(load)), rate, count)
    if arrivals.path is not None:
        return trace_offsets_ns(arrivals, arrivals.path, (None, None), rate, count)
    assert isinstance(traffic, TraceTraffic)  # noqa: S101 - the study's own rule
    limits = (traffic.longest_input, traffic.longest_output)
    return trace_offsets_ns(arrivals, traffic.path, limits, rate, count)


_KINDS: dict[type[AnyTraffic], Callable[[Any, Asked], list[PlannedRequest]]] = {
    ChatTraffic: drawn.chat,
    PrefixRepetitionTraffic: drawn.prefix_repetition,
    RandomTraffic: drawn.random,
    SharedPromptTraffic: drawn.shared_prompt,
    SessionsTraffic: sessions,
    ShareGptTraffic: sharegpt,
    JsonlTraffic: jsonl,
    TraceTraffic: trace,
    RunTraffic: partial(replay, plan=plan_cell),
}
