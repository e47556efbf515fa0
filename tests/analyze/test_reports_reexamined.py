"""What the rules say of two published reports and of one real measurement: what an expert would sign, and no more."""

import re

import pytest

from tests.analyze.field_reports import a100_report, l4_report, refreshed
from tests.analyze.h200 import h200_summary
from tests.analyze.reexamine import PAGE
from tests.docs.pages import page
from whichbits.analyze.summary import Finding, Summary

OTHER_WORDS = {"prefix_hash", "ignore_eos", "max_model_len", "requests_running", "enforce_eager", "max_num_seqs"}


def only(summary: Summary, code: str) -> Finding:
    (finding,) = [finding for finding in summary.findings if finding.code == code]
    return finding


def codes(summary: Summary) -> set[str]:
    return {finding.code for finding in summary.findings}


@pytest.fixture(scope="module")
def l4() -> Summary:
    return l4_report()


@pytest.fixture(scope="module")
def a100() -> Summary:
    return a100_report()


@pytest.fixture(scope="module")
def h200() -> Summary:
    return h200_summary()


def test_a_larger_cache_cannot_have_made_the_larger_batch(l4: Summary) -> None:
    finding = only(l4, "larger_cache_unused")

    assert "fp16 holds 234, w8a8 holds 487 and w4a16 holds 616" in finding.text
    assert "(fp16 62.8, w8a8 64.1 and w4a16 78.4) has another cause than room" in finding.text
    assert {"drain_dominated", "median_based_batch", "lengths_not_forced"} <= codes(l4)


def test_the_throughput_that_wins_contradicts_the_latencies_that_lose(l4: Summary) -> None:
    finding = only(l4, "throughput_against_latency")

    assert finding.text.startswith("At c100 w8a8 has the lower median TTFT and TPOT, and w4a16 the higher throughput")


def test_nine_milliseconds_of_dequantisation_are_at_most_three(l4: Summary) -> None:
    assert "at most 2.96 of 12.8 ms could be the price of a format" in only(l4, "left_over").text


def test_attained_bandwidth_is_overstated_by_the_embedding(l4: Summary) -> None:
    text = only(l4, "loaded_not_read").text

    assert "89.7% and 82.8% for fp16, 83.9% and 72.9% for w8a8 and 67.9% and 54.0% for w4a16" in text


def test_what_else_the_l4_report_leaves_open(l4: Summary) -> None:
    found = codes(l4)

    assert {"eager", "activation_types_differ", "starts_apart", "worst_case_concurrency", "crossover"} <= found
    assert {"legacy_kernel", "weight_only_fallback", "kv_starved", "batch_cap", "saturated"}.isdisjoint(found)


def test_the_l4_reports_own_predictions(l4: Summary) -> None:
    assert [each.verdict for each in l4.predictions] == ["true"] * 5
    assert l4.answer is not None
    assert [regime.arm for regime in l4.answer.regimes] == ["w4a16", "w8a8", "w4a16"]


def test_the_prefix_working_set_that_the_a100_report_overlooks(a100: Summary) -> None:
    text = only(a100, "prefix_working_set").text

    assert "491,520 tokens for each replica, 1.73 times bf16's and 1.22 times awq's cache" in text


def test_the_rate_was_never_reached_so_that_the_cap_set_the_load(a100: Summary) -> None:
    evidence = only(a100, "rate_not_reached").evidence

    assert evidence[1].endswith("5.61 of 10 requests/s")
    assert evidence[2].endswith("5.25 of 10 requests/s")


def test_behind_more_hits_awq_computes_its_prompts_more_slowly(a100: Summary) -> None:
    """By hand: 1,505,280 x (1 - 0.304) x 17,782 / 1,520,640 = 12,251 tokens/s, and 10,013 for AWQ."""
    text = only(a100, "computed_prompts").text

    assert "bf16 12,251" in text
    assert "awq 10,013" in text
    assert "awq 22% longer than bf16" in text


def test_itl_and_ttft_of_the_a100_report_stay_open_with_what_would_settle_them(a100: Summary) -> None:
    for code in ("median_far_from_mean", "ttft_mixes_hits"):
        finding = only(a100, code)
        assert finding.kind == "unresolved"
        assert finding.settled_by
    assert "42" in only(a100, "peak_above_cap").evidence[1]
    assert {"kv_starved", "legacy_kernel", "gain_by_bytes", "left_over"}.isdisjoint(codes(a100))


def test_on_an_h200_fp8_gains_what_its_bytes_give_and_no_more(h200: Summary) -> None:
    text = only(h200, "gain_by_bytes").text

    assert "4.75 ms, one of fp8 is 1.34 ms shorter (1.36 by fewer bytes alone)" in text
    assert "fp8 from 1.39 to 1.21 times" in text
    assert "at most 0.02 of 1.83 ms could be the price of a format" in only(h200, "left_over").text


def test_the_crossing_in_ttft_is_not_the_gpus(h200: Summary) -> None:
    (crossing,) = [each for each in h200.crossovers if each.metric == "ttft_ms.p50"]
    finding = only(h200, "outside_engine")

    assert (crossing.leader_low_load, crossing.leader_high_load) == ("fp8", "fp16")
    assert "in fp16 and fp8 at c256, c512" in finding.text
    assert "The front end's own clock shows most of it already" in finding.text
    assert finding.evidence[-1].startswith("fp8 at c512, repeat 1: client's TTFT 3,971 ms, queue + prefill 231 ms")


def test_steps_with_prefill_are_a_second_kind_on_the_h200(h200: Summary) -> None:
    evidence = only(h200, "two_kinds_of_steps").evidence

    assert "fp16 at c16, repeat 1: 95% at 4.90 ms and 5% at 10.8 ms" in evidence


def test_what_must_not_be_said_of_the_h200(h200: Summary) -> None:
    never = {
        "legacy_kernel",
        "weight_only_fallback",
        "eager",
        "kv_starved",
        "batch_cap",
        "prefill_bound",
        "tensor_parallel",
    }

    assert never.isdisjoint(codes(h200))
    assert {"unequal_work", "throughput_against_latency", "little_to_save", "starts_apart"}.isdisjoint(codes(h200))


def test_the_answer_for_the_h200(h200: Summary) -> None:
    assert h200.answer is not None
    low, latency, throughput = h200.answer.regimes

    assert (low.arm, throughput.arm) == ("fp8", "fp8")
    assert latency.arm is None
    assert latency.text.startswith("It depends on the SLO")
    assert h200.answer.holds_for["hardware"] == "NVIDIA H200"


def test_a_start_on_the_h200_by_stages(h200: Summary) -> None:
    start = h200.arms["fp8"].cold_start

    assert start is not None
    assert (start.load, start.init, start.compile, start.cuda_graphs) == (2.398021, 62.77, 38.69, 5.0)


def test_what_is_not_observed_names_what_would_settle_it(a100: Summary, l4: Summary, h200: Summary) -> None:
    open_ones = [each for report in (a100, l4, h200) for each in report.findings if each.kind != "observed"]

    assert len(open_ones) > 10
    assert all(finding.settled_by for finding in open_ones), [each.code for each in open_ones if not each.settled_by]


def test_the_page_shows_what_the_rules_say_today(a100: Summary, l4: Summary, h200: Summary) -> None:
    shown = page(PAGE)

    made = refreshed(shown, {"first report": a100, "second report": l4, "H200": h200})

    assert made == shown, "run `python -m tests.analyze.reexamine`"
    assert len(made) > 10_000


@pytest.mark.parametrize("name", ["field-reports.md", "field-reports.ko.md"])
def test_the_pages_speak_of_findings_that_there_are(name: str, a100: Summary, l4: Summary, h200: Summary) -> None:
    known = codes(a100) | codes(l4) | codes(h200)
    own = re.sub(r"<!--.*?begin -->.*?end -->", "", page(name), flags=re.DOTALL)
    named = set(re.findall(r"`([a-z]+(?:_[a-z0-9]+)+)`", own)) - OTHER_WORDS

    assert named <= known
    assert len(named) >= 15
