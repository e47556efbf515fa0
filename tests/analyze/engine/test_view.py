"""A cell as its engines saw it: replicas, stages, levels, each worked out by hand."""

import math
from dataclasses import replace

import pytest

from tests.analyze.make_cell import CELL
from tests.record.make_run import record
from whichbits.analyze.cells.cell import cell_summary
from whichbits.analyze.engine.counted import Counted
from whichbits.analyze.summary import CellSummary, EngineLevel, EngineTimes, Estimate, ReplicaSummary
from whichbits.record.columns import table_of
from whichbits.serve.metrics import EngineCounters
from whichbits.serve.metrics.histogram import Histogram
from whichbits.serve.metrics.rates import Moment

PROMPT = 3136


def replica(requests: int, hit_rate: float) -> Counted:
    prompts = requests * PROMPT
    hits = round(prompts * hit_rate)
    return Counted(
        EngineCounters(
            prompts, hits, requests_finished=requests, prefix_queries=prompts, prefix_hits=hits, cache_unit="tokens"
        )
    )


def summary(counts: dict[str, Counted], replicas: tuple[str | None, ...] = (None,)) -> CellSummary:
    records = [replace(record(index), replica=name, cached_tokens=None) for index, name in enumerate(replicas)]
    return cell_summary(CELL, table_of(CELL, records), counts)


def test_requests_behind_a_service_are_those_that_engines_finished() -> None:
    found = summary({"7w92m": replica(243, 0.317), "pm7wp": replica(237, 0.289)})

    assert [(one.replica, one.requests, round(one.hit_rate or 0, 3)) for one in found.replicas] == [
        ("7w92m", 243, 0.317),
        ("pm7wp", 237, 0.289),
    ]
    assert [one.share for one in found.replicas] == [243 / 480, 237 / 480]
    # 0.317 x 762,048 + 0.289 x 743,232, each rounded.
    assert (found.prefix_queries, found.prefix_hits) == (480 * PROMPT, 241_569 + 214_794)
    # The mean of 0.317 and 0.289, weighted by queries.
    assert found.prefix_hit_rate == pytest.approx(0.303, abs=5e-4)


def test_requests_are_counted_by_the_client_where_it_chose_the_replica() -> None:
    found = summary({"0": replica(1, 0.5), "1": replica(3, 0.0)}, ("0", "1", "1", "1"))

    assert [(one.requests, one.share) for one in found.replicas] == [(1, 0.25), (3, 0.75)]


def test_a_replica_of_several_cores_shows_each() -> None:
    cores = {"0": EngineCounters(requests_finished=3), "1": EngineCounters(requests_finished=1)}
    (found,) = summary({"0": Counted(EngineCounters(requests_finished=4), cores)}).replicas

    assert [(one.replica, one.requests, one.share) for one in found.engines] == [("0", 3, 0.75), ("1", 1, 0.25)]


def test_blocks_of_unknown_size_have_a_rate_but_no_tokens() -> None:
    blocks = EngineCounters(640, prefix_queries=40, prefix_hits=10, cache_unit="blocks", requests_finished=1)
    found = summary({"0": Counted(blocks)})

    assert found.replicas == (ReplicaSummary("0", 1, 1.0, 640, None, None, 0.25),)
    assert found.prefix_hits is None


def queue(*cumulative: float, total: float) -> Counted:
    histogram = Histogram((0.25, 0.75, math.inf), cumulative, total)
    return Counted(EngineCounters(preemptions=2), histograms={"queue": histogram})


def test_stages_of_all_replicas_in_milliseconds_with_their_bucket_error() -> None:
    found = summary({"0": queue(4, 10, 10, total=3.0), "1": queue(6, 20, 30, total=37.0)})

    # 10 of 40 up to 0.25, 30 up to 0.75: rank 20 lies halfway between, rank 40 above the last bound. The samples take
    # at least 20 x 0.25 + 10 x 0.75 = 12.5 of 40 seconds: the rest may all be the largest one's.
    assert found.engine_queue_ms == EngineTimes(
        n=40,
        mean=1000.0,
        p50=Estimate(500.0, 250.0, 750.0),
        p99=Estimate(None, 750.0, pytest.approx(750.0 + 27_500.0)),  # type: ignore[arg-type]
    )
    assert found.engine_decode_ms is None
    assert found.preemptions == 4


def test_a_stage_that_one_replica_does_not_tell_is_unknown() -> None:
    assert summary({"0": queue(4, 10, 10, total=3.0), "1": Counted(EngineCounters())}).engine_queue_ms is None
    assert summary({"0": queue(0, 0, 0, total=0.0)}).engine_queue_ms is None


def test_levels_while_the_cell_ran() -> None:
    during = tuple(
        Moment(time, EngineCounters(requests_running=running, requests_waiting=0, kv_cache_usage=running / 8))
        for time, running in ((0, 2), (1, 6))
    )
    found = summary({"0": Counted(EngineCounters(), during=during)})

    assert found.requests_running == EngineLevel(6, 4.0, 2)
    assert found.requests_waiting == EngineLevel(0, 0.0, 2)
    assert found.kv_cache_usage == EngineLevel(0.75, 0.5, 2)


def test_what_no_engine_tells_is_none() -> None:
    found = summary({})

    assert found.replicas == ()
    unknown = (
        found.prefix_queries, found.prefix_hits, found.engine_queue_ms, found.engine_ttft_ms, found.requests_running,
        found.kv_cache_usage, found.engine_output_tokens_per_s, found.preemptions, found.expected_prefix_hit_rate,
    )  # fmt: skip
    assert set(unknown) == {None}
