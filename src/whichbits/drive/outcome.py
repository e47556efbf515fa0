"""The verdict on one request: how it ended, as the record keeps it."""

from whichbits.drive.answer import HTTP_OK, Answer
from whichbits.drive.exchange import Exchange, Failure
from whichbits.record.schema import RequestRecord


def judge(exchange: Exchange, answer: Answer) -> Failure | None:
    """Return why the request failed, or None if it succeeded.

    The cause that says most comes first: a status, then an error object, then what happened to the
    connection. A connection that is lost after the answer had ended loses nothing.
    """
    if exchange.status is not None and exchange.status != HTTP_OK:
        return Failure("http_status", f"HTTP {exchange.status}: {answer.unread_body or 'no body'}")
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
        chunk_ns=tuple(stamp - origin_ns for stamp in answer.chunk_ns),
        chunk_tokens=tuple(answer.chunk_tokens),
        finish_reason=answer.finish_reason,
        done_seen=answer.done_seen,
        http_status=exchange.status,
        error_code=failure.code if failure else None,
        error=failure.error if failure else None,
    )


def _judge_stream(answer: Answer) -> Failure | None:
    if answer.undecodable is not None:
        return Failure("bad_stream", answer.undecodable)
    if answer.unread_body is not None:
        return Failure("bad_stream", f"no events in the answer: {answer.unread_body}")
    if not answer.ended:
        seen = len(answer.chunk_ns)
        return Failure("stream_ended_early", f"no finish reason and no [DONE] after {seen} content chunks")
    if not answer.chunk_ns:
        return Failure("no_content", "the answer ended without generated content")
    return None


def _judge_tokens(exchange: Exchange, answer: Answer) -> Failure | None:
    """Compare with the tokens asked for. Without usage there is nothing to compare: None is not a failure."""
    got, asked = answer.output_tokens, exchange.requested_output_tokens
    if got is None or got == asked or not exchange.length_forced:
        return None
    return Failure("short_output" if got < asked else "long_output", f"{got} tokens instead of {asked}")


def _since(origin_ns: int, stamp: int | None) -> int | None:
    return None if stamp is None else stamp - origin_ns
