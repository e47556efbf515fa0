"""What a plan explains of a cell's hits, from the run as it was recorded, and what the findings make of it."""

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.record.make_run import MS, TWO_ARMS, arm_record, ended, manifest, record
from whichbits.analyze.summarize import summarize
from whichbits.analyze.summary import Summary
from whichbits.record.run import Run
from whichbits.record.schema import ArmRecord, Cell, Fact, RequestRecord
from whichbits.record.scrapes import Scrape
from whichbits.record.writer import RunWriter
from whichbits.study.model import Load, Study
from whichbits.traffic.plan import plan_cell

PREFIXES: dict[str, Any] = {
    "kind": "prefix_repetition", "prefixes": 2, "prefix_tokens": 64, "suffix_tokens": 16, "output_tokens": 11,
}  # fmt: skip
CHAT: dict[str, Any] = {"kind": "chat"}
REQUESTS = 8


def study(traffic: dict[str, Any], cache: str = "salt") -> dict[str, Any]:
    arm = {"weight_format": "bf16", "model": "synthetic"}
    return {
        "name": "hits",
        "arms": {"bf16": arm},
        "traffic": traffic,
        "loads": [1],
        "cell": {"requests": REQUESTS},
        "cache": cache,
    }


def said(tokens: int, hits: int, kv_cache_tokens: int | None) -> str:
    size = "" if kv_cache_tokens is None else f',kv_cache_size_tokens="{kv_cache_tokens}"'
    return (
        f"vllm:prefix_cache_queries_total {tokens}\nvllm:prefix_cache_hits_total {hits}\n"
        f'vllm:cache_config_info{{block_size="16"{size}}} 1\n'
    )


def one_by_one(replicas: tuple[str | None, ...]) -> list[RequestRecord]:
    """Requests that follow one another, spread over replicas in turn, silent on what was cached."""
    return [
        replace(record(index, index * 1000 * MS), replica=replicas[index % len(replicas)], cached_tokens=None)
        for index in range(REQUESTS)
    ]


def summary(
    parent: Path,
    asked: dict[str, Any],
    hits: int,
    replicas: tuple[str | None, ...] = ("0",),
    *,
    kv_cache_tokens: int | None = 16_000,
    arm: ArmRecord | None = None,
) -> Summary:
    """A run of one cell at concurrency 1 whose replicas together found ``hits`` tokens of 8 x 80."""
    cell = Cell(0, "bf16", 1, None, 0)
    records = one_by_one(replicas)
    names = [replica or str(place) for place, replica in enumerate(replicas)]
    writer = RunWriter.create(parent, replace(manifest(cells=[cell]), study=asked))
    writer.arm(arm or arm_record("bf16", TWO_ARMS["bf16"]))
    for name in names:
        writer.scrape(Scrape("bf16", name, 0, "before", 0, said(0, 0, kv_cache_tokens)))
        share = (80 * REQUESTS // len(names), hits // len(names))
        writer.scrape(Scrape("bf16", name, 0, "after", 1, said(*share, kv_cache_tokens)))
    writer.cell(ended(cell, records), records)
    return summarize(Run.load(writer.finish()))


def expected(found: Summary) -> tuple[float, float] | None:
    return found.cells[0].expected_prefix_hit_rate


def codes(found: Summary) -> set[str]:
    return {finding.code for finding in found.findings} & {"cache_not_cold", "hit_rate_unexpected"}


OF_TWO_PREFIXES = 6 * 64
"""Each prefix is computed once and found three times."""


def test_a_cache_that_holds_every_prefix_finds_all_but_the_first_of_each(tmp_path: Path) -> None:
    found = summary(tmp_path, study(PREFIXES), OF_TWO_PREFIXES)

    assert expected(found) == pytest.approx((384 / 640, 384 / 640))
    assert codes(found) == set()


def test_a_cache_that_holds_one_request_keeps_a_prefix_only_from_one_to_the_next(tmp_path: Path) -> None:
    # Six blocks serve one request of 91 tokens: it finds its prefix if the request before it had the same one.
    order = [request.prefix for request in plan_cell(Study.model_validate(study(PREFIXES)), Load(concurrency=1), 0)]
    again = sum(one == other for one, other in pairwise(order))

    assert expected(summary(tmp_path, study(PREFIXES), 0, kv_cache_tokens=96)) == pytest.approx((again / 10,) * 2)


def test_turns_of_a_session_find_the_prompt_before_them(tmp_path: Path) -> None:
    """Four sessions of prompts of 64 and 64 + 11 + 5 tokens: of each, four blocks are found again."""
    sessions = {"kind": "sessions", "turns": 2, "first_tokens": 64, "output_tokens": 11, "input_tokens": 5}

    assert expected(summary(tmp_path, study(sessions), 0)) == pytest.approx((256 / 576,) * 2)


def test_a_trace_that_is_not_there_any_more_explains_nothing(tmp_path: Path) -> None:
    path = tmp_path / "trace"
    rows = ({"timestamp": at, "input_length": 80, "output_length": 11, "hash_ids": [1]} for at in range(REQUESTS))
    path.write_text("\n".join(map(json.dumps, rows)))
    trace = {"kind": "trace", "path": str(path), "block_tokens": 64}

    assert expected(summary(tmp_path / "there", study(trace), 0)) == pytest.approx((7 * 64 / 640,) * 2)
    path.unlink()
    assert expected(summary(tmp_path / "gone", study(trace), 0)) is None


def test_the_recorded_routing_is_simulated_and_an_unknown_one_is_drawn(tmp_path: Path) -> None:
    order = [request.prefix for request in plan_cell(Study.model_validate(study(PREFIXES)), Load(concurrency=1), 0)]
    computed = len(set(enumerate_replicas(order)))

    known = expected(summary(tmp_path / "known", study(PREFIXES), 0, ("0", "1")))
    drawn = expected(summary(tmp_path / "drawn", study(PREFIXES), 0, (None, None)))

    assert known == pytest.approx(((REQUESTS - computed) / 10,) * 2)
    assert drawn is not None
    # At best both prefixes stay on one replica each, at worst both are computed on both.
    assert 4 / 10 <= drawn[0] < drawn[1] <= 6 / 10


def enumerate_replicas(order: list[int | None]) -> list[tuple[int, int | None]]:
    return [(index % 2, prefix) for index, prefix in enumerate(order)]


@pytest.mark.parametrize(
    ("asked", "hits", "found"),
    [
        (study(CHAT), 0, set()),
        (study(CHAT), 64, {"cache_not_cold"}),
        (study(CHAT, "reset"), 64, {"cache_not_cold"}),
        (study(PREFIXES), OF_TWO_PREFIXES + 64, {"cache_not_cold"}),
        (study(PREFIXES), OF_TWO_PREFIXES - 64, {"hit_rate_unexpected"}),
        (study(PREFIXES, "warm"), REQUESTS * 64, set()),
        (study(PREFIXES, "warm"), 0, {"hit_rate_unexpected"}),
        ({"name": "imported"}, 64, set()),
    ],
    ids=["salted", "salted, yet found", "reset, yet found", "too many", "too few", "warm", "not warm", "no plan"],
)
def test_hits_beyond_or_below_the_plan_are_found(
    tmp_path: Path, asked: dict[str, Any], hits: int, found: set[str]
) -> None:
    seen = summary(tmp_path, asked, hits)

    assert codes(seen) == found
    assert seen.cells[0].hit_rate_as_expected is (None if asked["name"] == "imported" else not found)


def test_the_finding_names_what_was_expected(tmp_path: Path) -> None:
    found = summary(tmp_path, study(CHAT), 64)

    (finding,) = [finding for finding in found.findings if finding.code == "cache_not_cold"]
    assert finding.text == (
        "In the only cell the prefix cache was not cold: 10.0% of prompt tokens in bf16 at c1, repeat 1, expected 0.0%."
    )


def test_without_a_known_capacity_only_unshared_prompts_have_an_expectation(tmp_path: Path) -> None:
    assert expected(summary(tmp_path / "a", study(PREFIXES), 0, kv_cache_tokens=None)) is None
    assert expected(summary(tmp_path / "b", study(CHAT), 0, kv_cache_tokens=None)) == (0.0, 0.0)


def test_capacity_may_come_from_the_log_and_a_cache_switched_off_finds_nothing(tmp_path: Path) -> None:
    logged = {"kv_cache_tokens": Fact(16_000, "log"), "block_size": Fact(16, "log")}
    off = {"enable_prefix_caching": Fact(value=False, source="log")}

    for name, facts, rate in (("on", logged, 0.6), ("off", logged | off, 0.0)):
        arm = arm_record("bf16", replace(TWO_ARMS["bf16"], facts=facts))
        found = summary(tmp_path / name, study(PREFIXES), 0, kv_cache_tokens=None, arm=arm)
        assert expected(found) == pytest.approx((rate, rate)), name
