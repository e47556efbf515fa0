"""Over capacity: queue, KV cache or scheduler; and arms that had room to spare."""

from dataclasses import replace

from tests.analyze.make_observed import arm, cell, found, level, observed, room, split
from whichbits.analyze.findings.load import batch_cap, kv_starved, larger_cache_unused, rate_not_reached, saturated
from whichbits.analyze.load.sending import ArrivalRates
from whichbits.analyze.load.steady import SteadyState
from whichbits.analyze.summary import ArmSummary, CellSummary


def test_a_queue_that_outweighs_prefill_is_saturation() -> None:
    queued = cell(load=64, latency_split=split(300, 100, 900), requests_waiting=level(31))

    (finding,) = found(saturated, observed([arm()], [queued, cell(load=1)]))

    assert "w4a16 at c64" in finding.text
    assert "queue / (queue + prefill) 75%, waiting at most 31" in finding.evidence[1]


def test_a_short_queue_or_an_unknown_one_is_none() -> None:
    short = cell(latency_split=split(40, 100, 900), requests_waiting=level(3))
    never = cell(latency_split=split(300, 100, 900), requests_waiting=level(0))
    unseen = cell(latency_split=None, requests_waiting=level(31))

    assert not found(saturated, observed([arm()], [short, never, unseen, cell()]))


def test_a_rate_that_is_not_served_is_named() -> None:
    behind = cell(load=32, request_rate=10.0, requests_per_s=5.61)

    (finding,) = found(rate_not_reached, observed([arm()], [behind]))

    assert finding.evidence[1].endswith("5.61 of 10 requests/s")
    served = cell(load=32, request_rate=10.0, requests_per_s=9.2)
    assert not found(
        rate_not_reached, observed([arm()], [served, cell(request_rate=10.0, requests_per_s=None), cell()])
    )


def test_a_rate_is_held_against_what_was_due_within_the_steady_window() -> None:
    """Of a short cell much is drain: 7 of 10 requests/s in all, and yet every request was served in time."""
    served = ArrivalRates(10.0, 9.0, 9.0, 9.1, 9.1, 9.0)
    behind = replace(served, steady_sent=7.0, steady_served=6.9)
    few_were_due = replace(served, steady_planned=7.5, steady_served=7.0)

    def of(rates: ArrivalRates) -> CellSummary:
        return cell(load=32, request_rate=10.0, requests_per_s=7.0, arrival_rates=rates)

    assert not found(rate_not_reached, observed([arm()], [of(served)]))
    assert not found(rate_not_reached, observed([arm()], [of(few_were_due)]))
    (finding,) = found(rate_not_reached, observed([arm()], [of(behind)]))
    assert finding.evidence[1].endswith("6.90 of 10 requests/s (within the steady window 7.00 sent, 9.10 planned)")


def test_a_ramp_need_not_reach_the_load_s_rate_on_average() -> None:
    half = ArrivalRates(10.0, 5.0, 5.0, None, None, None)

    def of(served: float) -> CellSummary:
        return cell(request_rate=10.0, requests_per_s=served, arrival_rates=half)

    assert not found(rate_not_reached, observed([arm()], [of(4.5)]))
    (finding,) = found(rate_not_reached, observed([arm()], [of(3.5)]))
    assert finding.evidence[1].endswith("3.50 of 10 requests/s, 5.00 planned")


def test_a_queue_that_grows_is_a_rate_that_is_not_served() -> None:
    growing = SteadyState(None, None, None, None, None, None, None, "in_flight_grows")

    assert found(rate_not_reached, observed([arm()], [cell(request_rate=10.0, requests_per_s=9.0, steady=growing)]))


def test_a_full_cache_is_seen_by_preemptions_or_by_use_with_a_queue() -> None:
    preempted = cell(preemptions=12)
    full = cell(load=16, kv_cache_usage=level(0.99), requests_waiting=level(4))

    (finding,) = found(kv_starved, observed([arm()], [preempted, full]))

    assert "w4a16 at c8, c16" in finding.text
    assert finding.evidence[1].endswith("preemptions 12.0, KV cache use at most unknown")


def test_a_cache_with_room_is_not_starved() -> None:
    half, fits = cell(preemptions=0, kv_cache_usage=level(0.5), requests_waiting=level(4)), cell(preemptions=0)
    exactly_full = cell(kv_cache_usage=level(1.0), requests_waiting=level(0))

    assert not found(kv_starved, observed([arm()], [half, fits, exactly_full, cell()]))


def test_more_streams_than_max_num_seqs_are_capped() -> None:
    capped = cell(load=64, requests_running=level(16))

    (finding,) = found(batch_cap, observed([arm(max_num_seqs=16)], [capped]))

    assert "max_num_seqs 16 x 1 replica, concurrency 64" in finding.evidence[1]


def test_a_cap_that_is_not_reached_not_known_or_not_the_cause_is_no_finding() -> None:
    below = observed([arm(max_num_seqs=256)], [cell(load=64)])
    unknown = observed([arm()], [cell(load=64)])
    starved = observed([arm(max_num_seqs=16)], [cell(load=64, preemptions=3)])
    never_ran_so_many = observed([arm(max_num_seqs=16)], [cell(load=64, requests_running=level(9))])

    assert not any(found(batch_cap, each) for each in (below, unknown, starved, never_ran_so_many))


def roomy(name: str, tokens: int, asked: float = 16) -> ArmSummary:
    return replace(arm(name), capacity=room(tokens, asked))


def test_a_larger_cache_that_nobody_needed_is_said_to_be_unused() -> None:
    cells = [cell("bf16", mean_batch=60.0), cell("awq", mean_batch=75.0)]

    (finding,) = found(larger_cache_unused, observed([roomy("bf16", 283_408), roomy("awq", 402_400)], cells))

    assert "bf16 holds 89 and awq holds 127 requests" in finding.text
    assert "differ (bf16 60.0 and awq 75.0) has another cause than room" in finding.text
    assert "283,408 tokens / 3168 tokens a request = 89.5" in finding.evidence[0]


def test_a_larger_cache_that_was_needed_or_may_have_been_is_no_finding() -> None:
    needed = [roomy("bf16", 283_408, 100), roomy("awq", 402_400, 100)]
    alike = [roomy("bf16", 283_408), roomy("awq", 283_408)]
    both = [roomy("bf16", 283_408), roomy("awq", 402_400)]

    assert not found(larger_cache_unused, observed(needed))
    assert not found(larger_cache_unused, observed(alike))
    assert not found(larger_cache_unused, observed(both, [cell("bf16", preemptions=1)]))
    assert not found(larger_cache_unused, observed([arm("bf16"), arm("awq")]))
