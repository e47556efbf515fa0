"""Faults of what is sent: equal work, cold caches, exact lengths and counts."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from tests.analyze.make_observed import arm, cell, observed
from tests.drive.fake_server import DONE, HEAD, LAST_CHUNK, Answer, Received, chunk, event, raw, stream
from tests.faults.measured import Measured, measure, planned, summarised
from whichbits.analyze.cache.expected import ExpectedRate
from whichbits.analyze.cells.cell import cell_summary
from whichbits.analyze.findings.cache import not_cold
from whichbits.analyze.findings.work import unequal_work
from whichbits.drive.request_body import body
from whichbits.record.columns import table_of
from whichbits.record.schema import Cell
from whichbits.study.model import Load, Study
from whichbits.study.read import quickstart
from whichbits.study.request import RequestForm
from whichbits.traffic.plan import PlannedRequest, plan_cell

FOUR = Load(concurrency=4)


class CachingServer:
    """Answers with one token, and tells how much of a prompt it has met before; it never forgets."""

    def __init__(self) -> None:
        self.known: set[tuple[int, ...]] = set()

    async def __call__(self, request: Received, writer: asyncio.StreamWriter) -> None:
        prompt = tuple(request.body["prompt"])
        lengths = (length for length in range(len(prompt), 0, -1) if prompt[:length] in self.known)
        cached = next(lengths, 0)
        self.known.update(prompt[:length] for length in range(1, len(prompt) + 1))
        usage = {
            "prompt_tokens": len(prompt),
            "completion_tokens": 1,
            "prompt_tokens_details": {"cached_tokens": cached},
        }
        choice = {"index": 0, "text": "x", "finish_reason": "length"}
        payload = msgspec.json.encode({"choices": [choice], "usage": usage})
        writer.write(HEAD + chunk(b"data: " + payload + b"\n\n") + chunk(DONE) + LAST_CHUNK)


def study(whole_traffic: dict[str, Any] | None = None, **traffic: Any) -> Study:
    chosen = whole_traffic or {"kind": "random", "input_tokens": 64, "output_tokens": 1} | traffic
    return Study.model_validate(quickstart().model_dump(mode="json") | {"traffic": chosen, "cell": {"requests": 10}})


def hit_rate(server: Answer, requests: Sequence[PlannedRequest]) -> Measured:
    return measure(server, requests, FOUR)


def test_fault_04_a_second_run_of_one_seed_meets_a_warm_cache() -> None:
    """vllm#52884. Another repeat has the same lengths and other ids; the same ids again are seen as hits."""
    server = CachingServer()
    first, second = (plan_cell(study(range_ratio=0.5), FOUR, repeat) for repeat in (0, 1))

    assert [len(each.prompt) for each in first] == [len(each.prompt) for each in second]
    assert hit_rate(server, first).summary.prefix_hit_rate == 0
    again = hit_rate(server, second).summary.prefix_hit_rate
    assert again is not None
    assert again < 0.01
    assert hit_rate(server, second).summary.prefix_hit_rate == 1


def test_fault_05_hits_that_differ_along_the_sweep_move_the_knee() -> None:
    """vllm#54227. No load meets another's prompts, and a cell with unexpected hits is named."""
    server = CachingServer()
    loads = [Load(concurrency=streams) for streams in (4, 8, 16)]
    plans = [plan_cell(study(), load, 0) for load in loads]
    cold = [hit_rate(server, plan).summary.prefix_hit_rate for plan in plans]
    warm = hit_rate(server, plans[1])
    row = Cell(0, "w4a16", 8, None, 0, state="done")
    named = cell_summary(row, table_of(row, warm.records), expected=ExpectedRate(0.0, 0.0, 0.0))

    assert cold == [pytest.approx(0, abs=0.01)] * 3
    assert named.prefix_hit_rate == 1
    assert named.hit_rate_as_expected is False
    (said,) = not_cold(observed([arm()], [named]))
    assert said.code == "cache_not_cold"


def test_fault_11_random_prompts_drift_in_length() -> None:
    """vllm#42532. Ids are sent as they are; where text must be, the server's count is the record, not the plan's."""
    plan = plan_cell(study(input_tokens=1000), FOUR, 0)
    found = measure(CachingServer(), plan, FOUR)
    text = body("m", RequestForm(prompt="text"), plan[0])

    assert sorted(len(each.body["prompt"]) for each in found.server.received) == [1000] * 10
    assert [each.prompt_tokens for each in found.records] == [1000] * 10
    assert len(text["prompt"].split()) == 1000
    usage = measure(stream(), planned(1), FOUR).records[0].prompt_tokens
    assert usage == 3


def test_fault_12_prefix_repetition_drops_the_remainder() -> None:
    """vllm PR #57090. Ten prompts over three prefixes are ten, and no prefix is used two times more than another."""
    traffic = {"kind": "prefix_repetition", "prefix_tokens": 8, "suffix_tokens": 2, "prefixes": 3, "output_tokens": 1}
    plan = plan_cell(study(traffic), FOUR, 0)
    found = measure(CachingServer(), plan, FOUR)

    assert len(found.server.received) == 10
    assert sorted(Counter(tuple(each.body["prompt"][:8]) for each in found.server.received).values()) == [3, 3, 4]


def test_fault_13_equal_settings_give_different_totals() -> None:
    """vllm#8531. Lengths are forced; an answer that is shorter even so fails, and unequal work is named."""
    ends_early = raw(HEAD, chunk(event("a", finish="stop", usage=1)), chunk(DONE), LAST_CHUNK)
    found = measure(ends_early, planned(2), FOUR)
    asked = found.server.received[0].body
    apart = [cell("w8a8", output_tokens=800), cell("w4a16", output_tokens=791)]

    assert (asked["ignore_eos"], asked["max_tokens"]) == (True, 4)
    assert found.summary.errors == {"short_output": 2}
    (said,) = unequal_work(observed([arm("w8a8"), arm()], apart))
    assert "w8a8 800, w4a16 791" in said.text


def test_fault_22_most_random_prompts_have_a_wrong_length() -> None:
    """sglang PR #15732. Each prompt has exactly its planned length at the server, also where lengths vary."""
    plan = plan_cell(study(input_tokens=100, range_ratio=0.5), FOUR, 0)
    found = measure(CachingServer(), plan, FOUR)
    lengths = [len(each.prompt) for each in plan]

    assert len(set(lengths)) > 1
    assert all(50 <= length <= 150 for length in lengths)
    assert [each.prompt_tokens for each in found.records] == lengths
    assert found.summary.prompt_tokens == sum(lengths)


def test_also_throughput_is_by_what_was_asked_and_answered() -> None:
    """aiperf#339. Tools disagreed on output tokens, 1023 against 300: here the usage counts."""
    found = measure(stream(), planned(5), FOUR)

    assert found.summary.output_tokens == sum(each.output_tokens or 0 for each in found.records) == 20
    assert summarised(found.records, FOUR).output_tokens == 20
