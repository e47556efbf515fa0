"""The ways in which a request can fail: one code each, with the meaning that reports and docs give."""

from collections.abc import Mapping
from typing import Literal

FailureCode = Literal[
    "connect_failed",
    "connection_lost",
    "timeout_total",
    "timeout_silence",
    "http_status",
    "rate_limited",
    "overloaded",
    "redirected",
    "compressed",
    "error_in_stream",
    "stream_ended_early",
    "bad_stream",
    "no_content",
    "short_output",
    "long_output",
    "cancelled",
    "session_broken",
]

MEANINGS: Mapping[FailureCode, str] = {
    "connect_failed": "No connection could be opened for the request.",
    "connection_lost": "The connection closed before the answer said that it had ended. "
    "The request is not sent again: the server may have done the work.",
    "timeout_total": "The answer was not complete within limits.request_seconds of the send.",
    "timeout_silence": "Nothing arrived for limits.silence_seconds.",
    "http_status": "The server answered with a status other than 200 and those below.",
    "rate_limited": "The server answered 429. The request is not sent again; the error tells its Retry-After.",
    "overloaded": "The server answered 503. The request is not sent again; the error tells its Retry-After.",
    "redirected": "The server answered with a redirect, which is not followed: the other address is other work.",
    "compressed": "The answer was compressed, though identity was asked for: its times are the compressor's.",
    "error_in_stream": "The stream carried an error object, or a finish reason that means an error.",
    "stream_ended_early": "The answer ended without a finish reason and without [DONE].",
    "bad_stream": "The answer was not HTTP, not an event stream, or an event was not the expected JSON.",
    "no_content": "The answer ended well but held no generated content.",
    "short_output": "Fewer tokens than asked for: the arm did less work than the others.",
    "long_output": "More tokens than asked for: the arm did more work than the others.",
    "cancelled": "The run was stopped while the request was in flight.",
    "session_broken": "An earlier turn of the session failed, so this one was not sent.",
}
