"""Tell whether a file is a captured answer of an OpenAI-style server, and what a client should make of it."""

import re
from collections import defaultdict
from typing import Any

import msgspec

from whichbits.drive.answer.exchange import Exchange, Failure
from whichbits.drive.answer.outcome import STATUS_CODES, judge
from whichbits.drive.answer.plain_body import PlainBody, read_plain_body
from whichbits.drive.answer.reader import HTTP_OK, Answer, read_answer
from whichbits.drive.answer.sse import DONE, Choice, Payload, decode, split_events
from whichbits.drive.answer.timings import last_timings
from whichbits.drive.http.text import Response, split_responses
from whichbits.record.inspection import Inspection, Problem

Facts = dict[str, Any]

_EVENT = re.compile(r"^(?:data|error): ?(?:\{|\[DONE\])", re.MULTILINE)
_QUOTED = re.compile(r"(?:>[^\n]*\n)*> ?(?:data|HTTP/)")
_QUOTE = re.compile(r"^> ?", re.MULTILINE)
_RUN_TOGETHER = re.compile(r"^(data: ?(?:\{.*\}|\[DONE\])[ \t]*)\n(?=data:|event:|:)", re.MULTILINE)
"""A line that is a whole event, with the next event right behind it."""

_TOGETHER = re.compile(r"[}\]][ \t]*\n(?:data:|event:|:)")

_COMMENT = re.compile(r"^:", re.MULTILINE)

# Engines that write their name or an unmistakable build number into each chunk.
_FINGERPRINTS = (
    ("vllm", re.compile(r'"system_fingerprint": ?"vllm-(\d+\.\d+[\w.+]*)')),
    ("llama.cpp", re.compile(r'"system_fingerprint": ?"(b\d+)-[0-9a-f]{6,}"')),
)


def recognise(name: str, text: str) -> Inspection | None:
    """Return what a captured stream or HTTP answer says, or None if ``text`` is neither.

    Success and failure codes are those that a run gives its requests (``failure.MEANINGS``), except that nobody
    knows how many tokens were asked for. One response's facts stand flat; several stand in ``facts["responses"]``.
    """
    text = _as_sent(text)
    responses = split_responses(text)
    if not any(_is_answer(name, response) for response in responses):
        return None
    read = [_read(response) for response in responses]
    engine, version = _engine(text)
    problems = tuple(Problem(failure.code, failure.error) for _, failure in read if failure is not None)
    return Inspection("sse", engine, version, _combined([facts for facts, _ in read]), problems)


def _as_sent(text: str) -> str:
    """Undo what pasting does to a stream: quote marks in front, and the blank lines between events lost."""
    text = text.replace("\r\n", "\n")
    if _QUOTED.match(text):
        text = _QUOTE.sub("", text)
    return _RUN_TOGETHER.sub(r"\1\n\n", text) if _TOGETHER.search(text) else text


def _is_answer(name: str, response: Response) -> bool:
    if response.status is not None and response.status != HTTP_OK:
        return True
    return name.endswith(".sse") or bool(_EVENT.search(response.body)) or read_plain_body(response.body) is not None


def _combined(responses: list[Facts]) -> Facts:
    if len(responses) == 1:
        return responses[0]
    return {
        "success": all(facts["success"] for facts in responses),
        "records": len(responses),
        "responses": responses,
    }


def _read(response: Response) -> tuple[Facts, Failure | None]:
    plain = None if _EVENT.search(response.body) else read_plain_body(response.body)
    status = response.status or (plain.status if plain else None)
    if plain and not plain.is_error and status in (None, HTTP_OK):
        return {"success": True, "http_status": status} | plain.facts, None
    body = response.body.encode(errors="replace")
    answer, failure = _judged(body, status or HTTP_OK)
    facts: Facts = {"success": failure is None, "http_status": status}
    if plain:
        return facts | plain.facts, _said_plainly(failure, plain)
    facts |= {
        "done": answer.done_seen,
        "finish_reason": answer.finish_reason,
        "comments": len(_COMMENT.findall(response.body)),
    }
    return facts | _token_facts(answer, body) | _stream_facts(body), failure


def _said_plainly(failure: Failure | None, plain: PlainBody) -> Failure | None:
    """Return the failure in the words of the error instead of the whole page or object around it."""
    message = plain.facts.get("error_message")
    if failure is None or failure.code not in STATUS_CODES | {"bad_stream"} or not message:
        return failure
    return Failure(failure.code, f"{failure.error.partition(':')[0]}: {message}")


def _judged(body: bytes, status: int) -> tuple[Answer, Failure | None]:
    """Return the answer and a run's verdict on it. A capture tells no times, nor how many tokens were asked for."""
    exchange = Exchange(0, None, 0, scheduled_ns=0, due_ns=0, status=status, complete=True)
    exchange.pieces, exchange.stamps = [body], [0]
    answer = read_answer(exchange)
    exchange.requested_output_tokens = answer.output_tokens or 0
    return answer, judge(exchange, answer)


def _token_facts(answer: Answer, body: bytes) -> Facts:
    """Return the token counts: the usage's word, else that of llama.cpp's timings."""
    timings = last_timings(body)
    counted = {
        "prompt_tokens": timings.prompt_tokens,
        "cached_tokens": timings.cache_n,
        "completion_tokens": timings.predicted_n,
    }
    told = {
        "prompt_tokens": answer.prompt_tokens,
        "cached_tokens": answer.cached_tokens,
        "completion_tokens": answer.output_tokens,
    }
    return counted | {name: value for name, value in told.items() if value is not None}


def _stream_facts(body: bytes) -> Facts:
    chunks = [payload for payload in _payloads(body) if payload.all_choices]
    texts = _texts(chunks)
    facts: Facts = {
        "api": _api(chunks),
        "choices": len(texts),
        "content_chunks": sum(_has_content(chunk) for chunk in chunks),
        "role_only_chunks": sum(_is_role_only(chunk) for chunk in chunks),
        "tokens_after_chunk": _tokens_after_chunk(chunks),
        "text": texts[min(texts)] if texts else None,
    }
    return facts | ({"texts": [texts[index] for index in sorted(texts)]} if len(texts) > 1 else {})


def _payloads(body: bytes) -> list[Payload]:
    """Return every event that can be decoded; ``read_answer`` reports those that cannot."""
    payloads: list[Payload] = []
    for event in split_events(body):
        if event.data.strip() == DONE:
            continue
        try:
            payloads.append(decode(event.data))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
    return payloads


def _api(chunks: list[Payload]) -> str | None:
    choices = [choice for chunk in chunks for choice in chunk.all_choices]
    if any(choice.delta is not None for choice in choices):
        return "chat"
    return "completions" if any(choice.text is not None for choice in choices) else None


def _texts(chunks: list[Payload]) -> dict[int, str]:
    """Return the visible text of each choice by its index; reasoning and tool calls are no text."""
    texts: defaultdict[int, list[str]] = defaultdict(list)
    for chunk in chunks:
        for choice in chunk.all_choices:
            texts[choice.index or 0].append(choice.text or (choice.delta.content if choice.delta else None) or "")
    return {index: "".join(pieces) for index, pieces in texts.items()}


def _has_content(chunk: Payload) -> bool:
    return any(choice.has_content for choice in chunk.all_choices)


def _is_role_only(chunk: Payload) -> bool:
    return all(_opens(choice) for choice in chunk.all_choices)


def _opens(choice: Choice) -> bool:
    """Whether the choice names the speaker and nothing else. Some engines name it in every chunk."""
    named = choice.delta is not None and choice.delta.role is not None
    return named and not choice.has_content and choice.finish_reason is None


def _tokens_after_chunk(chunks: list[Payload]) -> list[int] | None:
    """Return the tokens so far with each chunk, if every chunk carries its usage."""
    counts = [chunk.usage.completion_tokens for chunk in chunks if chunk.usage is not None]
    known = [count for count in counts if count is not None]
    return known if known and len(known) == len(chunks) else None


def _engine(text: str) -> tuple[str | None, str | None]:
    for engine, pattern in _FINGERPRINTS:
        found = pattern.search(text)
        if found is not None:
            return engine, found[1]
    return None, None
