"""Prefill or decode, queue or work, and the two kinds of steps."""

from dataclasses import replace

import pytest

from tests.analyze.make_observed import UNKNOWN, arm, cell, found, observed, split
from whichbits.analyze.findings.phases import (
    latency_split,
    median_far_from_mean,
    prefill_bound,
    ttft_mixes_hits,
    ttft_of_hits,
    two_kinds_of_steps,
)
from whichbits.analyze.latency.itl_modes import ItlMode, ItlModes
from whichbits.analyze.latency.prefill_steps import PrefillSteps
from whichbits.analyze.summary import CellSummary, Distribution, TtftByCache

TWO = ItlModes(1000, (ItlMode(0.52, 21.0, 0.03), ItlMode(0.48, 304.0, 0.2)), 80.0, 0.93)
ONE = ItlModes(1000, (ItlMode(1.0, 21.0, 0.03),), None, None)
CARRYING = PrefillSteps(1000, 0.48, 300.0, 21.0)


@pytest.mark.parametrize(
    ("bound", "words"),
    [
        (cell(latency_split=split(0, 600, 400)), "prefill / (prefill + decode) 60%"),
        (replace(cell(), itl_modes=TWO, prefill_steps=CARRYING), "93% of the time between tokens"),
        (cell(prompt_tokens=8000 * 49), "49 prompt tokens computed for each output token"),
    ],
    ids=["by the engines", "by the gaps", "by the traffic"],
)
def test_prefill_sets_the_pace(bound: CellSummary, words: str) -> None:
    (finding,) = found(prefill_bound, observed([arm()], [bound]))

    assert words in finding.evidence[1]
    assert finding.settled_by


@pytest.mark.parametrize(
    "free",
    [
        cell(latency_split=split(900, 40, 960)),
        replace(cell(), itl_modes=TWO, prefill_steps=None),
        cell(prompt_tokens=8000 * 49, prefix_hit_rate=0.9),
        cell(prompt_tokens=8000 * 49, prefix_hit_rate=None),
        cell(prompt_tokens=None),
    ],
    ids=["decoding", "gaps of unknown cause", "cached prompts", "unknown hits", "nothing known"],
)
def test_prefill_does_not_set_the_pace_or_nobody_knows(free: CellSummary) -> None:
    assert not found(prefill_bound, observed([arm()], [free]))


def test_the_split_is_given_at_both_ends_of_the_load() -> None:
    cells = [cell(load=load, latency_split=split(load, 100, 899 - load)) for load in (1, 8, 400)]

    (finding,) = found(latency_split, observed([arm()], cells))

    assert "w4a16 at c1 queue 0%, prefill 10%, decode 90% of 999 ms" in finding.text
    assert "w4a16 at c400 queue 40%" in finding.text
    assert "c8" not in finding.text
    assert not found(latency_split, observed([arm()], [cell()]))


def test_two_kinds_of_steps_are_explained_by_the_prefill_that_they_carry() -> None:
    both = replace(cell(), itl_modes=TWO, prefill_steps=CARRYING)

    (finding,) = found(two_kinds_of_steps, observed([arm()], [both]))

    assert "52% at 21.0 ms and 48% at 304 ms" in finding.text
    assert "The long ones carry a neighbour's prefill" in finding.text
    assert finding.kind == "observed"


def test_rare_steps_with_prefill_are_a_kind_of_their_own_even_without_a_heap() -> None:
    rare = replace(cell(), itl_modes=ONE, prefill_steps=PrefillSteps(1000, 0.048, 10.8, 4.9))

    (finding,) = found(two_kinds_of_steps, observed([arm()], [rare]))

    assert "95% at 4.90 ms and 5% at 10.8 ms" in finding.text
    alike = replace(rare, prefill_steps=PrefillSteps(1000, 0.048, 5.4, 4.9))
    hardly_any = replace(rare, prefill_steps=PrefillSteps(1000, 0.004, 10.8, 4.9))
    assert not found(two_kinds_of_steps, observed([arm()], [alike, hardly_any]))


def test_a_heap_of_less_than_a_percent_is_no_kind_of_step() -> None:
    lonely = replace(TWO, modes=(ItlMode(0.004, 5.33, 0.03), ItlMode(0.996, 20.0, 0.03)))
    rare = replace(TWO, modes=(ItlMode(0.02, 5.33, 0.03), ItlMode(0.98, 20.0, 0.03)))

    assert not found(two_kinds_of_steps, observed([arm()], [replace(cell(), itl_modes=lonely)]))
    assert found(two_kinds_of_steps, observed([arm()], [replace(cell(), itl_modes=rare)]))


def test_the_place_is_named_once_where_there_is_one_only() -> None:
    one = replace(cell(), itl_modes=TWO)
    other = replace(one, cell=1, arm="w8a8")

    (alone,) = found(two_kinds_of_steps, observed([arm()], [one]))
    (several,) = found(two_kinds_of_steps, observed([arm()], [one, other]))

    assert "clearest in" not in alone.text
    assert alone.text.count(one.arm) == 1
    assert "clearest in" in several.text


def test_two_kinds_of_unknown_cause_name_what_would_settle_it_and_one_kind_is_silent() -> None:
    (finding,) = found(two_kinds_of_steps, observed([arm()], [replace(cell(), itl_modes=TWO)]))

    assert (finding.kind, bool(finding.settled_by)) == ("interpretation", True)
    assert "carry a neighbour's prefill:" not in finding.text
    assert not found(two_kinds_of_steps, observed([arm()], [replace(cell(), itl_modes=ONE), cell()]))


def test_a_mean_far_from_the_median_without_timelines_is_left_open() -> None:
    odd = cell("awq", itl_ms=Distribution(0, 159.14, 21.05, None, None))
    alike = cell("bf16", itl_ms=Distribution(0, 154.86, 190.12, None, None))

    (finding,) = found(median_far_from_mean, observed([arm()], [odd, alike]))

    assert finding.kind == "unresolved"
    assert "awq at c8" in finding.text
    assert "bf16" not in finding.text
    assert not found(median_far_from_mean, observed([arm()], [replace(odd, itl_modes=TWO), cell(itl_ms=UNKNOWN)]))


def by_cache(hits: int, misses: int, hit_ms: float = 50.0) -> TtftByCache:
    return TtftByCache(Distribution(hits, hit_ms, hit_ms, None, None), Distribution(misses, 600.0, 600.0, None, None))


def test_ttft_of_hits_and_misses_apart() -> None:
    (finding,) = found(ttft_of_hits, observed([arm()], [cell(ttft_by_cache=by_cache(150, 330))]))

    assert "hits 150 at 50.0 ms, misses 330 at 600 ms" in finding.evidence[1]
    few, alike = cell(ttft_by_cache=by_cache(3, 330)), cell(ttft_by_cache=by_cache(150, 330, 590.0))
    assert not found(ttft_of_hits, observed([arm()], [few, alike, cell()]))


def test_hits_that_cannot_be_told_apart() -> None:
    (finding,) = found(ttft_mixes_hits, observed([arm()], [cell(prefix_hit_rate=0.392)]))

    assert "39.2%" in finding.evidence[1]
    told = cell(prefix_hit_rate=0.392, ttft_by_cache=by_cache(150, 330))
    cold, unknown = cell(prefix_hit_rate=0.0), cell(prefix_hit_rate=None)
    assert not found(ttft_mixes_hits, observed([arm()], [told, cold, unknown]))
