"""What a run shows, in sentences with their evidence; a check is a function, and ``CHECKS`` lists them."""

from whichbits.analyze.findings.arms import idle_activation_quantization
from whichbits.analyze.findings.books import explained_books, other_traffic, unbalanced_books
from whichbits.analyze.findings.cache import not_cold, shown_resets, unexpected_hits, unknown_cache, unverified_resets
from whichbits.analyze.findings.claims import claims_not_proven
from whichbits.analyze.findings.client import busy_machine, client_limits
from whichbits.analyze.findings.contradictions import throughput_against_latency
from whichbits.analyze.findings.crossings import (
    alignments,
    crossings,
    pairs_chosen,
    service_levels,
    tails,
    without_interval,
)
from whichbits.analyze.findings.front_end import bursts, load_not_reached, outside_engine
from whichbits.analyze.findings.kernels import kernel_times
from whichbits.analyze.findings.load import batch_cap, kv_starved, larger_cache_unused, rate_not_reached, saturated
from whichbits.analyze.findings.measurement import (
    drain_dominated,
    lengths_not_forced,
    median_based_batch,
    peak_above_cap,
    short_outputs,
    throughput_drifts,
    warm_up_gave_up,
)
from whichbits.analyze.findings.mocks import mocked
from whichbits.analyze.findings.observed import Check, Observed
from whichbits.analyze.findings.opening import missed_at_start
from whichbits.analyze.findings.pace import computed_prompts, loaded_not_read
from whichbits.analyze.findings.phases import (
    latency_split,
    median_far_from_mean,
    prefill_bound,
    ttft_mixes_hits,
    ttft_of_hits,
    two_kinds_of_steps,
)
from whichbits.analyze.findings.quality import (
    answers_broken,
    answers_differ,
    answers_drift,
    answers_same,
    quality_not_told,
    reference_quantised,
)
from whichbits.analyze.findings.room import prefix_working_set, worst_case_concurrency
from whichbits.analyze.findings.search import bought, drifted
from whichbits.analyze.findings.settings import activation_types_differ, eager, settings_differ, starts_apart
from whichbits.analyze.findings.slow_kernels import legacy_kernel, slow_path_in_log, weight_only_fallback
from whichbits.analyze.findings.steps import gain_by_bytes, left_over, little_to_save, tensor_parallel
from whichbits.analyze.findings.throttling import throttled_gpus
from whichbits.analyze.findings.weights import partly_quantised
from whichbits.analyze.findings.work import (
    counted_otherwise,
    failures,
    thin_tails,
    unequal_work,
    unfinished,
    untold_tokens,
)
from whichbits.analyze.summary import Finding

__all__ = ["CHECKS", "Check", "Observed", "findings"]

CHECKS: tuple[Check, ...] = (
    # The most important first: what touches every number, then the crossings and their causes.
    mocked,
    unfinished,
    failures,
    unbalanced_books,
    other_traffic,
    explained_books,
    untold_tokens,
    counted_otherwise,
    unequal_work,
    unverified_resets,
    shown_resets,
    not_cold,
    unexpected_hits,
    client_limits,
    warm_up_gave_up,
    busy_machine,
    throttled_gpus,
    lengths_not_forced,
    short_outputs,
    load_not_reached,
    bursts,
    # Is an arm what people take it for?
    answers_broken,
    claims_not_proven,
    idle_activation_quantization,
    legacy_kernel,
    weight_only_fallback,
    slow_path_in_log,
    partly_quantised,
    settings_differ,
    activation_types_differ,
    # Who leads where.
    drifted,
    pairs_chosen,
    crossings,
    tails,
    alignments,
    service_levels,
    missed_at_start,
    bought,
    kernel_times,
    answers_differ,
    answers_same,
    answers_drift,
    reference_quantised,
    quality_not_told,
    # Why: what sets the pace first, then what a step is made of.
    outside_engine,
    rate_not_reached,
    saturated,
    kv_starved,
    batch_cap,
    prefill_bound,
    computed_prompts,
    prefix_working_set,
    larger_cache_unused,
    worst_case_concurrency,
    gain_by_bytes,
    loaded_not_read,
    left_over,
    tensor_parallel,
    little_to_save,
    eager,
    two_kinds_of_steps,
    latency_split,
    ttft_of_hits,
    # How far single numbers carry.
    throughput_against_latency,
    drain_dominated,
    throughput_drifts,
    median_based_batch,
    peak_above_cap,
    thin_tails,
    without_interval,
    median_far_from_mean,
    ttft_mixes_hits,
    starts_apart,
    unknown_cache,
)


def findings(observed: Observed) -> tuple[Finding, ...]:
    """Run every check."""
    return tuple(finding for check in CHECKS for finding in check(observed))
