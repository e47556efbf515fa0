"""What a finished run means to a script: one exit code, the gravest that applies."""

from collections.abc import Sequence

from whichbits.analyze.summary import Summary
from whichbits.errors import ClientLimited, Interrupted, RequestsFailed, ServerNotReady, SloMissed
from whichbits.language.phrase import phrase
from whichbits.record.schema import Manifest
from whichbits.study.model import Study

_GOOD = 0
_SLO_SHARE = 0.99
"""A load holds an SLO when this share of its requests does: the p99 that SLOs are written in."""


REASONS = {
    RequestsFailed.exit_code: phrase("in some cell more requests failed than the study's limits.failed_share allows"),
    ClientLimited.exit_code: phrase("in some cell this client was the limit, so that its times are not the server's"),
    SloMissed.exit_code: phrase("no arm holds the SLO at any load of the run"),
}
"""What an exit code means that follows from the run's numbers; the others come with an error of their own."""


def exit_code(manifest: Manifest, summary: Summary, study: Study, failures: Sequence[ServerNotReady]) -> int:
    """Return 130 if interrupted, else 3, 4, 6 or 5 by what went wrong first in the chain, else 0."""
    if manifest.interrupted:
        return Interrupted.exit_code
    if failures:
        return ServerNotReady.exit_code
    if _too_many_failed(summary, study.limits.failed_share):
        return RequestsFailed.exit_code
    if _client_decided(summary):
        return ClientLimited.exit_code
    if study.slo is not None and not _slo_held_somewhere(summary):
        return SloMissed.exit_code
    return _GOOD


def _too_many_failed(summary: Summary, allowed_share: float) -> bool:
    return any(cell.failed > allowed_share * cell.requests for cell in summary.cells)


def _client_decided(summary: Summary) -> bool:
    return any(cell.client_verdict == "client_limited" for cell in summary.cells)


def _slo_held_somewhere(summary: Summary) -> bool:
    """Return whether any arm holds the SLO at any load: a sweep is meant to go beyond that load."""
    return any(cell.slo_share is not None and cell.slo_share >= _SLO_SHARE for cell in summary.cells)
