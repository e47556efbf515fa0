"""Request records from what other tools keep of a request: its send, its TTFT, its gaps."""

from collections.abc import Sequence

from whichbits.record.importers.imported_cell import FAILED
from whichbits.record.schema import RequestRecord

NS = 1_000_000_000


def answered(
    index: int, sent_ns: int, chunk_ns: Sequence[int], chunk_tokens: Sequence[int], **known: int | None
) -> RequestRecord:
    """Return a request that succeeded; ``known`` may hold prompt_tokens, output_tokens and finished_ns."""
    output_tokens = known.get("output_tokens")
    finished = known.get("finished_ns")
    return RequestRecord(
        index=index,
        replica=None,
        requested_output_tokens=output_tokens or 0,
        prompt_tokens=known.get("prompt_tokens"),
        cached_tokens=None,
        output_tokens=output_tokens,
        scheduled_ns=sent_ns,
        sent_ns=sent_ns,
        first_byte_ns=None,
        finished_ns=chunk_ns[-1] if finished is None and chunk_ns else finished,
        chunk_ns=tuple(chunk_ns),
        chunk_tokens=tuple(chunk_tokens),
        finish_reason=None,
        done_seen=False,
        http_status=None,
        error_code=None,
        error=None,
    )


def failed(index: int, sent_ns: int, prompt_tokens: int | None, error: str | None) -> RequestRecord:
    """Return a request that the tool counts as failed; how it failed is what the tool says."""
    return RequestRecord(
        index=index,
        replica=None,
        requested_output_tokens=0,
        prompt_tokens=prompt_tokens,
        cached_tokens=None,
        output_tokens=None,
        scheduled_ns=sent_ns,
        sent_ns=sent_ns,
        first_byte_ns=None,
        finished_ns=None,
        chunk_ns=(),
        chunk_tokens=(),
        finish_reason=None,
        done_seen=False,
        http_status=None,
        error_code=FAILED,
        error=error,
    )
