"""What to make of a benchmark's numbers: means it implies, and reasons not to trust some of them."""

from dataclasses import dataclass
from typing import Any

from whichbits.language.amounts import amount
from whichbits.record.inspection import Problem

Facts = dict[str, Any]

# Below this many output tokens a request has too few decode steps for its TPOT to be that of decoding.
_SHORT_OUTPUT_TOKENS = 16
# Where most of a request is waiting for its first token and prompts outweigh outputs, tokens/s is prefill speed.
_PREFILL_SHARE = 0.5
_PROMPT_TO_OUTPUT = 10
# Tokens that arrive in bursts have gaps of microseconds inside a burst, and the mean holds all of the time.
_NEAR_ZERO_MS = 1.0
_BURST_RATIO = 10


@dataclass(frozen=True)
class BenchVerdict:
    """Derived facts, and problems by their codes."""

    derived: Facts
    errors: tuple[Problem, ...]
    warnings: tuple[Problem, ...]


def judge_bench(facts: Facts) -> BenchVerdict:
    """Return what the facts of one benchmark result imply; where one is missing, what needs it is left out.

    ``mean_input_tokens`` and ``mean_output_tokens`` are totals / completed; ``first_token_share`` is
    TTFT / E2E of means, and E2E where it was not measured TTFT + (output tokens - 1) x TPOT.
    """
    derived = {
        "mean_input_tokens": _ratio(facts.get("input_tokens"), facts.get("completed")),
        "mean_output_tokens": _ratio(facts.get("output_tokens"), facts.get("completed")),
    }
    derived["first_token_share"] = _first_token_share(facts, derived["mean_output_tokens"])
    known = {name: value for name, value in derived.items() if value is not None}
    return BenchVerdict(known, _errors(facts), _warnings(facts, known))


def _ratio(total: float | None, count: float | None) -> float | None:
    return total / count if total is not None and count else None


def _first_token_share(facts: Facts, output_tokens: float | None) -> float | None:
    ttft_ms, e2e_ms = facts.get("mean_ttft_ms"), facts.get("mean_e2e_ms")
    if ttft_ms is None:
        return None
    if e2e_ms is None:
        tpot_ms = facts.get("mean_tpot_ms")
        if tpot_ms is None or output_tokens is None:
            return None
        e2e_ms = ttft_ms + max(0.0, output_tokens - 1) * tpot_ms
    return _ratio(ttft_ms, e2e_ms)


def _errors(facts: Facts) -> tuple[Problem, ...]:
    lost, completed = _lost(facts), facts.get("completed")
    if lost is None or completed is None or lost <= completed:
        return ()
    return (Problem("most_requests_failed", f"{lost} of {amount(lost + completed, 'request')} failed"),)


def _lost(facts: Facts) -> int | None:
    """Return how many requests did not complete: as counted, else those sent less those completed."""
    failed, completed = facts.get("failed"), facts.get("completed")
    sent = facts.get("prompts_sent", facts.get("num_prompts"))
    if failed is not None or completed is None or sent is None:
        return failed
    return int(max(0, sent - completed))


def _warnings(facts: Facts, derived: Facts) -> tuple[Problem, ...]:
    output_tokens = derived.get("mean_output_tokens")
    found: list[Problem] = []
    lost = _lost(facts)
    if lost:
        found.append(Problem("requests_left_out_of_statistics", f"{amount(lost, 'request')} did not complete"))
    if _prefill_bound(derived):
        found.append(Problem("prefill_bound", f"{derived['first_token_share']:.0%} of a request is its first token"))
    if output_tokens is not None and output_tokens <= 1:
        found.append(Problem("one_token_outputs_no_decode", "a TPOT needs two output tokens"))
    elif output_tokens is not None and output_tokens < _SHORT_OUTPUT_TOKENS:
        found.append(Problem("outputs_too_short_for_tpot", f"{output_tokens:.1f} output tokens a request"))
    if _all_at_once(facts):
        found.append(Problem("unlimited_rate_ttft_is_queueing", "all requests were sent at once"))
    if _bursty(facts):
        found.append(Problem("median_itl_near_zero_bursty_stream", "several tokens arrive at once: read TPOT, not ITL"))
    if facts.get("backend") == "openai-chat":
        # vLLM has changed in 0.26 to 0.33 which chunks count; the file does not say which version wrote it.
        found.append(Problem("chat_timing_depends_on_tool_version"))
    return tuple(found)


def _prefill_bound(derived: Facts) -> bool:
    share = derived.get("first_token_share")
    prompt, output = derived.get("mean_input_tokens"), derived.get("mean_output_tokens")
    if share is None or prompt is None or output is None:
        return False
    return bool(share >= _PREFILL_SHARE and prompt >= _PROMPT_TO_OUTPUT * output)


def _all_at_once(facts: Facts) -> bool:
    """Whether nothing held requests back: no rate, and no cap below their number."""
    sent, cap = facts.get("completed"), facts.get("max_concurrency")
    if facts.get("request_rate") != "inf" or facts.get("mean_ttft_ms") is None or sent is None:
        return False
    return bool(sent > 1 and (cap is None or cap >= sent))


def _bursty(facts: Facts) -> bool:
    median_ms, mean_ms = facts.get("median_itl_ms"), facts.get("mean_itl_ms")
    if median_ms is None or mean_ms is None:
        return False
    return bool(median_ms < _NEAR_ZERO_MS and mean_ms > max(_NEAR_ZERO_MS, _BURST_RATIO * median_ms))
