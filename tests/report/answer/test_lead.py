"""The first screen: what to serve, where the lead changes, whether to trust it, and what is not known."""

from dataclasses import replace

import pytest

from tests.report.make_summary import make_summary, repeated
from tests.report.test_korean import WHOLE, concluded
from whichbits.analyze.summary import Finding, Recommendation, Summary
from whichbits.analyze.summary.verdicts import Answer, Regime
from whichbits.report.answer.lead import checks, lead, unknowns


def answered(low: str | None, latency: str | None, throughput: str | None, *level: str) -> Summary:
    names = ("low_load", "high_load_latency", "high_load_throughput")
    arms = (low, latency, throughput)
    regimes = tuple(Regime(name, arm, "", level_with=level) for name, arm in zip(names, arms, strict=True))  # type: ignore[arg-type]
    recommendation = (
        Recommendation("tpot_ms.p50", (("w4a8", None, 11.0), ("fp16", 11.0, None)), "", ((8.7, 16.0),)),
        Recommendation("ttft_ms.p50", (("fp16", None, None),), ""),
        Recommendation("output_tokens_per_s", (("w4a8", None, 11.0), ("fp16", 11.0, None)), "", ((8.7, 16.0),)),
        Recommendation("goodput_requests_per_s", (("w4a8", None, 4.0), ("fp16", 4.0, None)), "", (None,)),
    )
    return replace(make_summary(), answer=Answer(regimes, {}, (), ("quality",)), recommendation=recommendation)


def test_the_handover_is_told_once_for_metrics_that_agree() -> None:
    found = lead(answered("w4a8", "fp16", "fp16"))

    assert found is not None
    assert found.serve == "Serve w4a8 at low load and fp16 at high load."
    assert found.more == (
        "The lead changes at 11 (8.7 to 16) by median TPOT and output throughput, about 4 by goodput (loads in "
        "concurrent requests, 95 % intervals in parentheses)."
    )


def test_one_arm_everywhere_is_named_with_those_that_may_be_as_good() -> None:
    sure, doubtful = (lead(answered("w4a8", "w4a8", "w4a8", *level)) for level in ((), ("w8a8", "fp16")))

    assert sure is not None
    assert doubtful is not None
    assert sure.serve == "Serve w4a8 at low load as at high load (1 to 32 concurrent requests)."
    told_apart = "It is told apart from every other arm in each regime."
    assert sure.more == (
        "By median TPOT, fp16 leads from 11 (8.7 to 16) on. By output throughput, fp16 leads from 11 (8.7 to 16) on. "
        + told_apart
    )
    assert doubtful.more == "w8a8 and fp16 may be as good: the numbers do not tell them apart."


@pytest.mark.parametrize(
    "regimes",
    [(None, "fp16", "fp16"), ("w4a8", "fp16", "w8a8"), ("w4a8", "w4a8", "fp16"), ("w4a8", None, None)],
    ids=["no low load", "two at high load", "low again", "no high load"],
)
def test_where_regimes_differ_more_than_that_the_table_speaks_alone(regimes: tuple[str | None, ...]) -> None:
    assert lead(answered(*regimes)) is None  # type: ignore[arg-type]
    assert lead(make_summary()) is None


def test_an_arm_that_all_others_may_equal_is_named_by_chance_and_leads_nothing() -> None:
    summary = answered("w4a8", "fp16", "w8a8")
    assert summary.answer is not None
    low, latency, throughput = summary.answer.regimes
    chance = replace(throughput, level_with=tuple(arm for arm in summary.arms if arm != "w8a8"))

    found = lead(replace(summary, answer=replace(summary.answer, regimes=(low, latency, chance))))

    assert found is not None
    assert found.serve == "Serve w4a8 at low load and fp16 at high load."


def test_what_makes_numbers_doubtful_is_said() -> None:
    told = {check.text: check.good for check in checks(WHOLE)}

    assert told["64 of 464 requests failed"] is False
    assert told["the client may have set the pace of 1 of 15 cells"] is False
    assert told["loads were met once: how much repeats differ was not measured"] is False


def test_a_run_without_doubts_says_what_was_checked() -> None:
    summary = make_summary()
    cells = tuple(replace(c, client_verdict="client_ok", failed=0, errors={}) for c in summary.cells)
    fine = repeated(replace(summary, cells=cells, findings=()))

    assert all(check.good for check in checks(fine))
    assert [check.text for check in checks(fine)][1:] == [
        f"the client kept up in all {len(fine.cells)} cells",
        "each arm met each load 2 times",
    ]


def test_findings_that_make_numbers_wrong_are_among_the_doubts_one_of_a_kind() -> None:
    found = tuple(Finding("observed", "cache_not_cold", f"Cache {place} was not cold. More words.") for place in "ab")

    told = [check.text for check in checks(replace(make_summary(), findings=found))]

    assert "Cache a was not cold." in told
    assert "Cache b was not cold." not in told


def test_open_questions_begin_with_answers_and_name_what_would_settle_them() -> None:
    open_ = unknowns(WHOLE)

    assert open_[0].text == "What fewer bits cost in answers."
    assert all(each.settled_by for each in open_)
    assert len({each.text for each in open_}) == len(open_)
    assert unknowns(replace(WHOLE, answer=None)) == ()
    assert concluded(make_summary()).answer is not None


def test_an_arm_at_high_load_that_may_be_as_good_at_low_load_needs_no_handover() -> None:
    summary = answered("w4a8", None, "fp16", "fp16")
    assert summary.answer is not None
    low, latency, throughput = summary.answer.regimes
    regimes = (low, latency, replace(throughput, level_with=()))

    found = lead(replace(summary, answer=replace(summary.answer, regimes=regimes)))

    assert found is not None
    told = "Serve fp16 at high load; at low load nothing tells it from w4a8 (1 to 32 concurrent requests)."
    assert found.serve == told
    assert found.more.endswith("At low load w4a8 may be as good or better.")


def test_who_may_be_as_good_in_some_regimes_only_is_said_of_these() -> None:
    summary = answered("w4a8", "w4a8", "w4a8")
    assert summary.answer is not None
    low, latency, throughput = summary.answer.regimes
    regimes = (replace(low, level_with=("w8a8", "fp16")), latency, replace(throughput, level_with=("w8a8",)))

    found = lead(replace(summary, answer=replace(summary.answer, regimes=regimes)))

    assert found is not None
    assert found.more.endswith(
        "At low load w8a8 and fp16 may be as good or better. At high load w8a8 may be as good or better in throughput."
    )


def test_an_arm_that_every_regime_names_or_holds_for_as_good_is_served() -> None:
    summary = answered("w4a8", "fp16", "w4a8")
    assert summary.answer is not None
    low, latency, throughput = summary.answer.regimes
    regimes = (low, replace(latency, level_with=("w4a8",)), throughput)

    found = lead(replace(summary, answer=replace(summary.answer, regimes=regimes)))

    assert found is not None
    assert found.serve == "Serve w4a8 at low load as at high load (1 to 32 concurrent requests)."
    assert found.more.endswith("At high load fp16 may be as good or better in latency.")


def test_one_repeat_tells_arms_apart_by_an_assumption_only() -> None:
    summary = answered("w4a8", "w4a8", "w4a8")
    assert summary.answer is not None
    by_tpot = tuple(replace(regime, metric="tpot_ms.p50") for regime in summary.answer.regimes)
    met_once = tuple(replace(each, metric="tpot_ms.p50", spread_assumed=True) for each in summary.crossovers)

    found = lead(replace(summary, answer=replace(summary.answer, regimes=by_tpot), crossovers=met_once))

    assert found is not None
    assert found.more.endswith("It is told apart from every other arm in each regime, if repeats differ by 2%.")


def test_cells_that_did_not_run_are_no_repeats() -> None:
    summary = make_summary()
    planned = tuple(replace(cell, cell=100 + cell.cell, repeat=1, state="planned") for cell in summary.cells)

    told = {check.text for check in checks(replace(summary, cells=(*summary.cells, *planned)))}

    assert "loads were met once: how much repeats differ was not measured" in told


def test_a_search_that_met_some_loads_once_does_not_pass_for_a_run_without_repeats() -> None:
    summary = make_summary()
    more = replace(summary, cells=(*summary.cells, replace(summary.cells[0], cell=99, repeat=1)))

    told = {check.text: check.good for check in checks(more)}

    assert (
        told["some loads were met once, others up to 2 times: how much repeats differ is known of these only"] is False
    )
