"""What the KV cache's size means: not the log's maximum concurrency, but perhaps the hit rate."""

from dataclasses import replace

from tests.analyze.make_observed import arm, cell, found, observed, room
from whichbits.analyze.findings.room import prefix_working_set, worst_case_concurrency
from whichbits.analyze.summary import ArmSummary


def with_room(tokens: int, asked: float, prefixes: int | None = None, max_model_len: int | None = None) -> ArmSummary:
    return replace(arm(), capacity=room(tokens, asked, prefixes, max_model_len=max_model_len))


def test_a_load_beyond_the_logs_figure_and_within_the_real_one() -> None:
    """283,408 tokens hold 34.6 requests of 8,192 tokens and 89.5 of 3,168."""
    (finding,) = found(worst_case_concurrency, observed([with_room(283_408, 64, max_model_len=8192)]))

    assert "where 89 fit, it is 34.6 for w4a16" in finding.text


def test_a_load_below_the_logs_figure_or_beyond_both_is_no_misreading() -> None:
    assert not found(worst_case_concurrency, observed([with_room(283_408, 16, max_model_len=8192)]))
    assert not found(worst_case_concurrency, observed([with_room(283_408, 100, max_model_len=8192)]))
    assert not found(worst_case_concurrency, observed([with_room(283_408, 64)]))


def test_prefixes_that_do_not_fit_where_requests_do() -> None:
    seen = observed([with_room(283_408, 16, prefixes=160)], [cell(prefix_hit_rate=0.304)])

    (finding,) = found(prefix_working_set, seen)

    assert "491,520 tokens for each replica, 1.73 times w4a16's cache" in finding.text
    assert "w4a16 30.4%" in finding.text


def test_prefixes_that_fit_or_are_unknown_and_requests_that_do_not_fit_are_another_matter() -> None:
    assert not found(prefix_working_set, observed([with_room(600_000, 16, prefixes=160)]))
    assert not found(prefix_working_set, observed([with_room(283_408, 16)]))
    assert not found(prefix_working_set, observed([with_room(283_408, 120, prefixes=160)]))
    assert not found(prefix_working_set, observed([arm()]))
