"""What an answer said and when: events matched with the reads that completed them."""

from bisect import bisect_left
from dataclasses import dataclass, field
from itertools import accumulate

import msgspec

from whichbits.drive.exchange import Exchange
from whichbits.drive.sse import DONE, Choice, Payload, ServerEvent, Usage, decode, readable_error, split_events

HTTP_OK = 200

_MILLISECOND_NS = 1_000_000
_SHOWN_BODY = 500
_WORDLESS = "an error without words"


@dataclass(slots=True)
class Answer:
    """One decoded answer. ``chunk_ns`` are absolute; one entry a chunk with generated content.

    A chunk's tokens are the growth of the usage that came with it. A server that sends no usage with its
    first content chunk sends none that could be used so: each chunk then counts as one token, and is left so
    even if the final usage differs, since nobody knows which chunk held how many. ``output_tokens`` is always
    the usage's word, and None if there was none.

    ``separate_gaps`` counts the gaps between content chunks that came in different HTTP chunks, and
    ``short_gaps`` those among them under a millisecond. Events inside one HTTP chunk were bundled by the
    server; whether the client is late can only be seen in the others.

    ``text`` is what was generated, where the exchange asks for it; None if a part of it is no text. All choices of an
    answer are one timeline: with several, TTFT is that of the first of them, and gaps lie between their chunks.
    """

    chunk_ns: list[int] = field(default_factory=list)
    chunk_tokens: list[int] = field(default_factory=list)
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    finish_reason: str | None = None
    done_seen: bool = False
    error: str | None = None
    undecodable: str | None = None
    unread_body: str | None = None
    text: str | None = None
    events: int = 0
    separate_gaps: int = 0
    short_gaps: int = 0

    @property
    def ended(self) -> bool:
        """Whether the answer itself said that it had ended."""
        return self.done_seen or self.finish_reason is not None


def read_answer(exchange: Exchange) -> Answer:
    """Decode what arrived, whole or cut off, and let the exchange forget the raw bytes.

    A body that is no event stream, such as that of an error status, is kept as text in ``unread_body``.
    """
    body = b"".join(exchange.pieces)
    reading = _Reading(exchange)
    if exchange.status == HTTP_OK:
        for event in split_events(body):
            reading.take(event)
    answer = reading.end()
    if not answer.events:
        answer.unread_body = _body_text(body)
    exchange.forget_body()
    return answer


class _Reading:
    """The state between one event and the next."""

    def __init__(self, exchange: Exchange) -> None:
        self.answer = Answer()
        self._stamps = exchange.stamps
        self._piece_ends = list(accumulate(len(piece) for piece in exchange.pieces))
        self._last_piece = -1
        self._counted: dict[int, int] = {}
        self._texts: list[str] | None = [] if exchange.keeps_text else None
        self._usage_with_chunks: bool | None = None

    def take(self, event: ServerEvent) -> None:
        self.answer.events += 1
        if event.data.strip() == DONE:
            self.answer.done_seen = True
            return
        try:
            payload = decode(event.data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            self._take_undecodable(event, str(error))
            return
        self._take_payload(payload, event)

    def _take_undecodable(self, event: ServerEvent, reason: str) -> None:
        text = event.data[:200].decode(errors="replace")
        if event.is_error:
            self.answer.error = self.answer.error or text.strip() or _WORDLESS
        else:
            self.answer.undecodable = self.answer.undecodable or f"{reason}: {text}"

    def _take_payload(self, payload: Payload, event: ServerEvent) -> None:
        error = payload.error_text
        if error is None and event.is_error:
            error = payload.message or _body_text(event.data) or _WORDLESS
        self.answer.error = self.answer.error or error
        if payload.usage is not None:
            self._take_usage(payload.usage)
        self._take_choices(payload, event)

    def _take_usage(self, usage: Usage) -> None:
        answer = self.answer
        answer.prompt_tokens = _newer(usage.prompt_tokens, answer.prompt_tokens)
        answer.output_tokens = _newer(usage.completion_tokens, answer.output_tokens)
        if usage.prompt_tokens_details is not None:
            answer.cached_tokens = _newer(usage.prompt_tokens_details.cached_tokens, answer.cached_tokens)

    def _take_choices(self, payload: Payload, event: ServerEvent) -> None:
        choices = payload.all_choices
        for choice in choices:
            self.answer.finish_reason = choice.finish_reason or self.answer.finish_reason
        if not choices:
            return
        usage_tokens = payload.usage.completion_tokens if payload.usage is not None else None
        grown = self._growth(usage_tokens, choices)
        if any(choice.has_content for choice in choices) or grown:
            self._take_content(usage_tokens, choices, event.end)
            self._take_text(choices)

    def _growth(self, usage_tokens: int | None, choices: list[Choice]) -> int:
        """Tokens that the usage has beyond those counted, where usage comes with the chunks.

        Beside one of several choices engines give that choice's own count; beside all of them, that of all.
        """
        if usage_tokens is None or self._usage_with_chunks is False:
            return 0
        counted = self._counted.get(_index(choices[0]), 0) if len(choices) == 1 else sum(self._counted.values())
        return max(0, usage_tokens - counted)

    def _take_content(self, usage_tokens: int | None, choices: list[Choice], end: int) -> None:
        if self._usage_with_chunks is None:
            self._usage_with_chunks = usage_tokens is not None
        by_usage = self._usage_with_chunks and usage_tokens is not None
        tokens = self._growth(usage_tokens, choices) if by_usage else 1
        index = _index(choices[0])
        self._counted[index] = self._counted.get(index, 0) + tokens
        # The piece that holds the last byte of the event's blank line.
        piece = bisect_left(self._piece_ends, end)
        self._note_gap(piece)
        self.answer.chunk_ns.append(self._stamps[piece])
        self.answer.chunk_tokens.append(tokens)

    def _take_text(self, choices: list[Choice]) -> None:
        if self._texts is None:
            return
        if any(choice.is_beyond_text for choice in choices):
            self._texts = None
        else:
            self._texts.extend(choice.generated for choice in choices)

    def end(self) -> Answer:
        """Return the answer as it is when nothing more comes."""
        if self._texts:
            self.answer.text = "".join(self._texts)
        return self.answer

    def _note_gap(self, piece: int) -> None:
        if self.answer.chunk_ns and piece != self._last_piece:
            self.answer.separate_gaps += 1
            gap_ns = self._stamps[piece] - self.answer.chunk_ns[-1]
            self.answer.short_gaps += gap_ns < _MILLISECOND_NS
        self._last_piece = piece


def _index(choice: Choice) -> int:
    return choice.index or 0


def _newer(value: int | None, before: int | None) -> int | None:
    return before if value is None else value


def _body_text(body: bytes) -> str | None:
    try:
        return readable_error(msgspec.json.decode(body))[:_SHOWN_BODY]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return body[:_SHOWN_BODY].decode(errors="replace") or None
