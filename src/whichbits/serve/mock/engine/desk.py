"""Who runs and who waits: slots, the prefix cache, and the counters that the books are balanced against."""

import time
from collections import Counter, deque

from whichbits.serve.mock.engine.cadence import CADENCES
from whichbits.serve.mock.engine.prefixes import Prefixes
from whichbits.serve.mock.engine.speed import Speed
from whichbits.serve.mock.engine.truth import Truth
from whichbits.serve.mock.faults import FaultKind, Faults, faults_of
from whichbits.serve.mock.messages.answers import Answer, Api, Form, answer
from whichbits.serve.mock.messages.asked import Body, Wire
from whichbits.serve.mock.messages.stream import Outcome, Stream, Wired
from whichbits.serve.mock.settings import MockSettings, UsageStyle

_STALL_NS = 3_600_000_000_000
"""An hour: longer than any client waits."""
_STYLES: tuple[FaultKind, ...] = ("crlf", "comments", "no_space")


class Desk:
    """Takes requests, gives them slots in their order, and counts. All calls come from one thread."""

    def __init__(self, settings: MockSettings) -> None:
        self.settings = settings
        self.prefixes = Prefixes()
        self.truth = Truth(settings.truth_requests)
        self.counted: Counter[str] = Counter()
        self.running: dict[int, Stream] = {}
        self.waiting: deque[Stream] = deque()
        self._numbers = 0
        self._faults = settings.ordered_faults
        self._speed = Speed(settings)
        self.clockwork = CADENCES[settings.cadence](self._speed, self.running, self._finished)

    def number(self) -> tuple[int, Faults]:
        """Return the number of a request that has just arrived, and what is to go wrong with it."""
        number = self._numbers
        self._numbers += 1
        return number, faults_of(self._faults, number, self.settings.seed)

    def take(self, wired: Wired, number: int, faults: Faults, wire: Wire, body: Body) -> Stream:
        """Accept a request; its first token follows by itself. Raises Refused if it has no prompt."""
        prompt = body.prompt_ids()
        cached = self._cached(prompt)
        api: Api = "chat" if wire.path.endswith("/chat/completions") else "completions"
        stream = Stream(wired, number, wire, prompt, self._answer(api, body, faults, len(prompt), cached))
        stream.request_id = stream.request_id or body.user
        stream.cached_tokens = cached
        stall = faults.get("stall")
        if stall is not None:
            stream.stall_at, stream.stall_ns = stall, _STALL_NS
        self.truth.keep(stream)
        self.waiting.append(stream)
        return stream

    def admit(self) -> None:
        """Let those run who wait, as far as there are slots."""
        while self.waiting and (not self.settings.slots or len(self.running) < self.settings.slots):
            stream = self.waiting.popleft()
            self.running[stream.number] = stream
            stream.outcome, stream.admitted_ns = "running", time.monotonic_ns()
            self.counted["prompt_tokens"] += stream.prompt_tokens
            computed = stream.prompt_tokens - stream.cached_tokens
            first_ns = stream.admitted_ns + self._speed.first_ns(stream.number, computed, len(self.running))
            stalled = stream.stall_at == 0
            self.clockwork.add(stream, first_ns + (stream.stall_ns if stalled else 0))

    def left(self, stream: Stream) -> None:
        """Forget a stream whose client has gone."""
        if not stream.over:
            self._end(stream, "aborted")
            self.admit()

    def _finished(self, stream: Stream) -> None:
        broken = stream.answer.ending != "keep"
        self._end(stream, "done" if stream.answer.whole else "cut" if broken else "error")
        stream.wired.answered(stream)
        self.admit()

    def _end(self, stream: Stream, outcome: Outcome) -> None:
        if self.running.pop(stream.number, None) is None and stream in self.waiting:
            self.waiting.remove(stream)
        stream.outcome = outcome
        self.counted["generation_tokens"] += stream.said_tokens
        self.counted["finished length" if outcome == "done" else "finished abort"] += 1

    def _cached(self, prompt: list[int]) -> int:
        if not self.settings.prefix_cache:
            return 0
        cached = self.prefixes.look_up(prompt)
        self.counted["prefix_cache_queries"] += len(prompt)
        self.counted["prefix_cache_hits"] += cached
        return cached

    def _answer(self, api: Api, body: Body, faults: Faults, prompt_tokens: int, cached: int) -> Answer:
        told = self.settings
        cut, reset = faults.get("cut"), faults.get("reset")
        return answer(
            Form(
                api=api,
                model=told.model,
                prompt_tokens=prompt_tokens,
                cached_tokens=cached,
                output_tokens=body.output_tokens,
                usage=_usage(told.usage, body),
                tokens_per_chunk=told.tokens_per_chunk,
                events_per_send=told.events_per_send,
                role_chunk=told.role_chunk,
                reasoning_tokens=told.reasoning_tokens,
                streamed=body.stream,
                style=tuple(style for style in _STYLES if faults.has(style)),
                done=not faults.has("no_done"),
                error_after=faults.get("error"),
                broken_after=cut if cut is not None else reset,
                ending="cut" if cut is not None else "keep" if reset is None else "reset",
            )
        )


def _usage(told: UsageStyle, body: Body) -> UsageStyle:
    """Return what the mock was told, or else what the request asks for, as vLLM understands it."""
    if told != "asked":
        return told
    options = body.stream_options
    if options is None or not options.include_usage:
        return "none"
    return "continuous" if options.continuous_usage_stats else "final"
