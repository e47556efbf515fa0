"""The HTTP process's end of the engine: start it, send requests, route each step's tokens."""

import asyncio
import contextlib
import itertools
import socket
import sys
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field

import msgspec

from whichbits.serve.embedded.facts import say
from whichbits.serve.embedded.messages import (
    LENGTH,
    Add,
    Cancel,
    Died,
    EngineSettings,
    FromEngine,
    Output,
    Ready,
    ResetDone,
    ResetPrefixCache,
    Sampling,
    Step,
    ToEngine,
    decode_from_engine,
    frame,
)
from whichbits.serve.embedded.metrics import EngineMetrics, RequestMeter
from whichbits.serve.process.ending import ending


@dataclass(frozen=True)
class Answer:
    """One answer under way: its outputs as they come, and what is measured of it."""

    meter: RequestMeter
    outputs: asyncio.Queue[Output] = field(default_factory=asyncio.Queue)


class EngineClient:
    """One engine process and the answers that it owes."""

    def __init__(self, settings: EngineSettings, metrics: EngineMetrics) -> None:
        self._settings = settings
        self._metrics = metrics
        self._numbers = itertools.count(1)
        self._answers: dict[int, Answer] = {}
        self._resets: list[asyncio.Future[ResetDone]] = []
        self.ready: Ready | None = None
        self._ready_changed = asyncio.Event()
        self.death: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def start(self) -> None:
        """Start the engine process; ``ready`` is set when it has loaded and computed once."""
        ours, theirs = socket.socketpair()
        descriptor = theirs.fileno()
        settings = msgspec.json.encode(self._settings).decode()
        command = (sys.executable, "-m", "whichbits.serve.embedded.engine", str(descriptor), settings)
        self._process = await asyncio.create_subprocess_exec(*command, pass_fds=[descriptor])
        theirs.close()
        self._reader, self._writer = await asyncio.open_connection(sock=ours)
        self._listener = asyncio.create_task(self._listen())

    async def ready_or_dead(self) -> Ready | None:
        """Wait until the engine can answer; None if it died instead."""
        await self._ready_changed.wait()
        return self.ready

    async def stop(self) -> None:
        """End the engine process at once: a step under way cannot be interrupted otherwise."""
        self._listener.cancel()
        self._writer.close()
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()

    async def generate(self, prompt: list[int], sampling: Sampling) -> AsyncGenerator[Output]:
        """Yield what each step adds to the answer; leaving early cancels it and frees its blocks.

        The last output has a finish reason; with ``error`` if the engine refused the request or died.
        """
        number = next(self._numbers)
        answer = self._answers[number] = Answer(self._metrics.arrived(len(prompt)))
        self._send(Add(number, prompt, sampling))
        try:
            while number in self._answers or not answer.outputs.empty():
                yield await answer.outputs.get()
        finally:
            if self._answers.pop(number, None) is not None:
                self._send(Cancel(number))
                answer.meter.finished("abort")

    async def reset_prefix_cache(self) -> ResetDone:
        """Ask for an empty prefix cache; takes seconds, because the pipeline is built anew."""
        if self.death.done():
            return ResetDone(success=False, reason=f"the engine died: {self.death.result()}")
        answer: asyncio.Future[ResetDone] = asyncio.get_running_loop().create_future()
        self._resets.append(answer)
        self._send(ResetPrefixCache())
        return await answer

    def _send(self, command: ToEngine) -> None:
        if not self.death.done():
            self._writer.write(frame(command))

    async def _listen(self) -> None:
        try:
            while not self.death.done():
                (length,) = LENGTH.unpack(await self._reader.readexactly(LENGTH.size))
                self._take(decode_from_engine(await self._reader.readexactly(length)))
        except (asyncio.IncompleteReadError, ConnectionError):
            cause = f"its process ended with {ending(await self._process.wait())}"
            say("ERROR", f"the engine died: {cause}")
            self._bury(cause)

    def _take(self, message: FromEngine) -> None:
        match message:
            case Step():
                self._metrics.stepped(message)
                for output in message.outputs:
                    self._route(output)
            case Output():  # refused before any step
                self._route(message)
            case Ready():
                self.ready = message
                self._ready_changed.set()
            case ResetDone():
                self._resets.pop(0).set_result(message)
            case Died(cause):
                self._bury(cause)

    def _route(self, output: Output) -> None:
        answer = self._answers.get(output.sequence)
        if answer is None:  # cancelled while the step ran
            return
        answer.meter.generated(len(output.tokens))
        if output.finish_reason is not None:
            del self._answers[output.sequence]
            answer.meter.finished(output.finish_reason)
        answer.outputs.put_nowait(output)

    def _bury(self, cause: str) -> None:
        self.ready = None
        self._ready_changed.set()
        self.death.set_result(cause)
        for number in list(self._answers):
            self._route(Output(number, [], None, "abort", f"the engine died: {cause}"))
        while self._resets:
            self._resets.pop(0).set_result(ResetDone(success=False, reason=f"the engine died: {cause}"))
