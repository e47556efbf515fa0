"""What a run shows, in sentences with their evidence; a check is a function, and ``CHECKS`` lists them."""

from whichbits.analyze.findings.arms import idle_activation_quantization
from whichbits.analyze.findings.books import explained_books, other_traffic, unbalanced_books
from whichbits.analyze.findings.cache import not_cold, unexpected_hits, unknown_cache, unverified_resets
from whichbits.analyze.findings.client import busy_machine, client_limits
from whichbits.analyze.findings.crossings import alignments, crossings, service_levels, tails, without_interval
from whichbits.analyze.findings.observed import Check, Observed
from whichbits.analyze.findings.search import bought, drifted
from whichbits.analyze.findings.work import failures, thin_tails, unequal_work, unfinished
from whichbits.analyze.summary import Finding

__all__ = ["CHECKS", "Check", "Observed", "findings"]

CHECKS: tuple[Check, ...] = (
    # What touches every number comes first, the crossings after it, what no data of this run can settle last.
    unfinished,
    failures,
    unbalanced_books,
    other_traffic,
    explained_books,
    unequal_work,
    unverified_resets,
    not_cold,
    unexpected_hits,
    client_limits,
    busy_machine,
    idle_activation_quantization,
    drifted,
    crossings,
    tails,
    alignments,
    service_levels,
    bought,
    thin_tails,
    without_interval,
    unknown_cache,
)


def findings(observed: Observed) -> tuple[Finding, ...]:
    """Run every check."""
    return tuple(finding for check in CHECKS for finding in check(observed))
