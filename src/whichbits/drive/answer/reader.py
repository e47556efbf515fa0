"""What an answer said and when: events matched with the reads that completed them."""

from array import array
from collections.abc import MutableSequence
from dataclasses import dataclass, field

import msgspec

from whichbits.drive.answer.event_cutter import EventCutter
from whichbits.drive.answer.exchange import Exchange
from whichbits.drive.answer.sse import DONE, Choice, Payload, Usage, decode, readable_error

HTTP_OK = 200

_MILLISECOND_NS = 1_000_000
_SHOWN_BODY = 500
_WORDLESS = "an error without words"
_UNREAD_BYTES = 2**20  # of a body without events: enough for any error object
_MOST_TOKENS = 2**31 - 1  # that a column of a record holds; a server may claim anything


@dataclass(slots=True)
class Answer:
    """One decoded answer. ``chunk_ns`` are absolute; one entry a chunk with generated content.

    A chunk's tokens are the growth of the usage that came with it. A server that sends no usage with its
    first content chunk sends none that could be used so: each chunk then counts as one token, and is left so
    even if the final usage differs, since nobody knows which chunk held how many. ``output_tokens`` is always
    the usage's word, and None if there was none.

    ``separate_gaps`` counts the gaps between content chunks that came in different HTTP chunks, and
    ``short_gaps`` those among them under a millisecond. Events inside one HTTP chunk were bundled by the
    server; whether the client is late can only be seen in the others. ``merged_gaps`` counts those that a late read
    may have closed: both chunks came in one read, which may have waited a millisecond and half a mean gap or longer.

    ``text`` is what was generated, where the exchange asks for it; None if a part of it is no text. All choices of an
    answer are one timeline: with several, TTFT is that of the first of them, and gaps lie between their chunks.
    """

    chunk_ns: MutableSequence[int] = field(default_factory=list)
    chunk_tokens: MutableSequence[int] = field(default_factory=list)
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
    merged_gaps: int = 0

    @property
    def ended(self) -> bool:
        """Whether the answer itself said that it had ended."""
        return self.done_seen or self.finish_reason is not None


def read_answer(exchange: Exchange) -> Answer:
    """Decode what arrived, whole or cut off, and let the exchange forget the raw bytes."""
    reader = AnswerReader(is_stream=exchange.status == HTTP_OK, keeps_text=exchange.keeps_text)
    for piece, stamp_ns in zip(exchange.pieces, exchange.stamps, strict=True):
        reader.feed(piece, stamp_ns)
    exchange.forget_body()
    return reader.end()


class AnswerReader:
    """Decodes an answer as it arrives, piece by piece: a read gives one piece for each HTTP chunk in it."""

    def __init__(self, *, is_stream: bool, keeps_text: bool = False, compact: bool = False) -> None:
        """``is_stream`` is false where the status promises no events; ``compact`` keeps 12 bytes a chunk."""
        answer = Answer(array("q"), array("I")) if compact else Answer()
        self._reading = _Reading(answer, keeps_text=keeps_text)
        self._cutter = EventCutter() if is_stream else None
        self._unread: bytearray | None = bytearray()

    def feed(self, piece: bytes, stamp_ns: int, waited_ns: int = 0) -> None:
        """Take body data that was read at ``stamp_ns``, after lying unread for up to ``waited_ns``."""
        reading, cutter = self._reading, self._cutter
        if self._unread is not None:
            self._keep_unread(piece)
        if cutter is None:
            return
        if cutter.tail and cutter.holds_event_before(piece):
            self._take_rest()
        reading.stamp_ns = stamp_ns
        reading.waited_ns = waited_ns
        reading.piece += 1
        only = cutter.only_event(piece)
        if only is not None:
            reading.take(only, is_error=False)
            return
        for event in cutter.cut(piece):
            reading.take(event.data, is_error=event.is_error)

    def end(self) -> Answer:
        """Return the answer as it is when nothing more comes; a last event without its blank line counts.

        A body that is no event stream, such as that of an error status, is kept as text in ``unread_body``.
        """
        self._take_rest()
        answer = self._reading.end()
        if not answer.events:
            answer.unread_body = _body_text(bytes(self._unread or b""))
        return answer

    def _take_rest(self) -> None:
        if self._cutter is not None:
            for event in self._cutter.rest():
                self._reading.take(event.data, is_error=event.is_error)

    def _keep_unread(self, piece: bytes) -> None:
        if self._reading.answer.events:
            self._unread = None
        elif self._unread is not None and len(self._unread) < _UNREAD_BYTES:
            self._unread += piece


class _Reading:
    """The state between one event and the next; the stamp and the number of the piece that ends an event."""

    def __init__(self, answer: Answer, *, keeps_text: bool) -> None:
        self.answer = answer
        self.stamp_ns = 0
        self.waited_ns = 0
        self.piece = 0
        self._last_piece = -1
        self._counted: dict[int, int] = {}
        self._texts: list[str] | None = [] if keeps_text else None
        self._usage_with_chunks: bool | None = None

    def take(self, data: bytes, *, is_error: bool) -> None:
        self.answer.events += 1
        if data[:1] != b"{" and data.strip() == DONE:
            self.answer.done_seen = True
            return
        try:
            payload = decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            self._take_undecodable(data, str(error), is_error=is_error)
            return
        choices = payload.choices
        usual = choices is not None and len(choices) == 1 and choices[0].finish_reason is None
        if choices is not None and usual and not is_error and not payload.error and payload.object != "error":
            self._take_generated(payload.usage, choices)  # nearly every event there is: no error, and not the end
        else:
            self._take_payload(payload, data, is_error=is_error)

    def _take_undecodable(self, data: bytes, reason: str, *, is_error: bool) -> None:
        text = data[:200].decode(errors="replace")
        if is_error:
            self.answer.error = self.answer.error or text.strip() or _WORDLESS
        else:
            self.answer.undecodable = self.answer.undecodable or f"{reason}: {text}"

    def _take_payload(self, payload: Payload, data: bytes, *, is_error: bool) -> None:
        error = payload.error_text
        if error is None and is_error:
            error = payload.message or _body_text(data) or _WORDLESS
        self.answer.error = self.answer.error or error
        choices = payload.all_choices
        for choice in choices:
            self.answer.finish_reason = choice.finish_reason or self.answer.finish_reason
        self._take_generated(payload.usage, choices)

    def _take_generated(self, usage: Usage | None, choices: list[Choice]) -> None:
        usage_tokens, grown = None, 0
        if usage is not None:
            self._take_usage(usage)
            usage_tokens = usage.completion_tokens
        if not choices:
            return
        if usage_tokens is not None:
            grown = self._growth(usage_tokens, choices)
        if grown or (choices[0].has_content if len(choices) == 1 else any(choice.has_content for choice in choices)):
            self._take_content(usage_tokens, grown, choices)
            if self._texts is not None:
                self._take_text(self._texts, choices)

    def _take_usage(self, usage: Usage) -> None:
        answer = self.answer
        if usage.prompt_tokens is not None:
            answer.prompt_tokens = usage.prompt_tokens
        if usage.completion_tokens is not None:
            answer.output_tokens = usage.completion_tokens
        if usage.prompt_tokens_details is not None:
            answer.cached_tokens = _newer(usage.prompt_tokens_details.cached_tokens, answer.cached_tokens)

    def _growth(self, usage_tokens: int, choices: list[Choice]) -> int:
        """Tokens that the usage has beyond those counted, where usage comes with the chunks.

        Beside one of several choices engines give that choice's own count; beside all of them, that of all.
        """
        if self._usage_with_chunks is False:
            return 0
        counted = self._counted.get(_index(choices[0]), 0) if len(choices) == 1 else sum(self._counted.values())
        return max(0, usage_tokens - counted)

    def _take_content(self, usage_tokens: int | None, grown: int, choices: list[Choice]) -> None:
        if self._usage_with_chunks is None:
            self._usage_with_chunks = usage_tokens is not None
        tokens = grown if self._usage_with_chunks and usage_tokens is not None else 1
        index = _index(choices[0])
        self._counted[index] = self._counted.get(index, 0) + tokens
        self._note_gap()
        self.answer.chunk_ns.append(self.stamp_ns)
        self.answer.chunk_tokens.append(min(tokens, _MOST_TOKENS))

    def _take_text(self, texts: list[str], choices: list[Choice]) -> None:
        if any(choice.is_beyond_text for choice in choices):
            self._texts = None
        else:
            texts.extend(choice.generated for choice in choices)

    def end(self) -> Answer:
        """Return the answer as it is when nothing more comes."""
        if self._texts:
            self.answer.text = "".join(self._texts)
        return self.answer

    def _note_gap(self) -> None:
        chunk_ns = self.answer.chunk_ns
        if chunk_ns and self.piece != self._last_piece:
            self.answer.separate_gaps += 1
            gap_ns = self.stamp_ns - chunk_ns[-1]
            if gap_ns < _MILLISECOND_NS:
                self.answer.short_gaps += 1
                self.answer.merged_gaps += gap_ns == 0 and self._may_have_merged(chunk_ns)
        self._last_piece = self.piece

    def _may_have_merged(self, chunk_ns: MutableSequence[int]) -> bool:
        half_mean_gap_ns = (self.stamp_ns - chunk_ns[0]) // (2 * len(chunk_ns))
        return self.waited_ns >= max(_MILLISECOND_NS, half_mean_gap_ns)


def _index(choice: Choice) -> int:
    return choice.index or 0


def _newer(value: int | None, before: int | None) -> int | None:
    return before if value is None else value


def _body_text(body: bytes) -> str | None:
    try:
        return readable_error(msgspec.json.decode(body))[:_SHOWN_BODY]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return body[:_SHOWN_BODY].decode(errors="replace") or None
