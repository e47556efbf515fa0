"""The verdict on one request: how it ended, as the record keeps it."""

from array import array
from collections.abc import Mapping
from urllib.parse import urlsplit

from whichbits.drive.answer.exchange import Exchange, Failure
from whichbits.drive.answer.failure import FailureCode
from whichbits.drive.answer.reader import HTTP_OK, Answer
from whichbits.language.amounts import amount
from whichbits.record.schema import RequestRecord

_REDIRECTS = (301, 302, 303, 307, 308)
_REFUSALS: Mapping[int, FailureCode] = {
    429: "rate_limited",
    503: "overloaded",
    **dict.fromkeys(_REDIRECTS, "redirected"),
}
STATUS_CODES: frozenset[FailureCode] = frozenset({"http_status", *_REFUSALS.values()})
"""The codes that a status alone decides."""

_STARS = "***"


def judge(exchange: Exchange, answer: Answer) -> Failure | None:
    """Return why the request failed, or None if it succeeded.

    The cause that says most comes first: a status, then an error object, then what happened to the
    connection. A connection that is lost after the answer had ended loses nothing.
    """
    if (refusal := _judge_head(exchange, answer)) is not None:
        return refusal
    if answer.error is not None:
        return Failure("error_in_stream", answer.error)
    failure = exchange.failure
    if failure is not None and not (failure.code == "connection_lost" and answer.ended):
        return failure
    return _judge_stream(answer) or _judge_tokens(exchange, answer)


def to_record(exchange: Exchange, answer: Answer, origin_ns: int) -> RequestRecord:
    """Return the request's record, with times relative to ``origin_ns``."""
    failure = judge(exchange, answer)
    return RequestRecord(
        index=exchange.index,
        replica=exchange.replica,
        requested_output_tokens=exchange.requested_output_tokens,
        prompt_tokens=answer.prompt_tokens,
        cached_tokens=answer.cached_tokens,
        output_tokens=answer.output_tokens,
        scheduled_ns=exchange.scheduled_ns - origin_ns,
        sent_ns=_since(origin_ns, exchange.sent_ns),
        first_byte_ns=_since(origin_ns, exchange.first_byte_ns),
        finished_ns=_since(origin_ns, exchange.finished_ns),
        chunk_ns=array("q", [stamp - origin_ns for stamp in answer.chunk_ns]),
        chunk_tokens=array("I", answer.chunk_tokens),
        finish_reason=answer.finish_reason,
        done_seen=answer.done_seen,
        http_status=exchange.status,
        error_code=failure.code if failure else None,
        error=_without(exchange.secret, failure.error) if failure else None,
        text=answer.text,
    )


def _judge_head(exchange: Exchange, answer: Answer) -> Failure | None:
    """Judge what stands before the body. Nothing is sent a second time: a retry would hide what the user meets."""
    status, headers = exchange.status, exchange.headers
    if status is None:
        return None
    if status != HTTP_OK:
        code = _REFUSALS.get(status, "http_status")
        return Failure(code, f"HTTP {status}{_particulars(status, headers)}: {answer.unread_body or 'no body'}")
    encoding = headers.get("content-encoding", "identity").strip().lower()
    return None if encoding in ("", "identity") else Failure("compressed", f"Content-Encoding: {encoding}")


def _particulars(status: int, headers: Mapping[str, str]) -> str:
    if status in _REDIRECTS:
        where = urlsplit(headers.get("location", ""))
        # A query may hold a signature, and so may a user's name: only the place is told.
        return f" to {where.scheme}://{where.hostname}{where.path}" if where.hostname else f" to {where.path or '?'}"
    return f" (Retry-After: {headers['retry-after']})" if "retry-after" in headers else ""


def _without(secret: str | None, text: str) -> str:
    """Servers quote the key that they refuse."""
    return text.replace(secret, _STARS) if secret else text


def _judge_stream(answer: Answer) -> Failure | None:
    if answer.undecodable is not None:
        return Failure("bad_stream", answer.undecodable)
    if answer.unread_body is not None:
        return Failure("bad_stream", f"no events in the answer: {answer.unread_body}")
    if not answer.ended:
        seen = len(answer.chunk_ns)
        return Failure("stream_ended_early", f"no finish reason and no [DONE] after {amount(seen, 'content chunk')}")
    if not answer.chunk_ns:
        return Failure("no_content", "the answer ended without generated content")
    return None


def _judge_tokens(exchange: Exchange, answer: Answer) -> Failure | None:
    """Compare with the tokens asked for. Without usage there is nothing to compare: None is not a failure."""
    got, asked = answer.output_tokens, exchange.requested_output_tokens
    if got is None or got == asked or not exchange.length_forced:
        return None
    return Failure("short_output" if got < asked else "long_output", f"{amount(got, 'token')} instead of {asked}")


def _since(origin_ns: int, stamp: int | None) -> int | None:
    return None if stamp is None else stamp - origin_ns
