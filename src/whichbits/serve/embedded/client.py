"""The HTTP process's end of the engine: start it, hand it requests, route each step's tokens to their streams."""

import asyncio
import contextlib
import itertools
import socket
import sys
from collections.abc import AsyncIterator

import msgspec

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
from whichbits.serve.embedded.metrics import EngineMetrics


class EngineDied(Exception):  # noqa: N818 - says what it is
    """The engine process ended; its cause is the message."""


class EngineClient:
    """One engine process and the answers that it owes."""

    def __init__(self, settings: EngineSettings, metrics: EngineMetrics) -> None:
        self._settings = settings
        self._metrics = metrics
        self._numbers = itertools.count(1)
        self._streams: dict[int, asyncio.Queue[Output]] = {}
        self._resets: list[asyncio.Future[ResetDone]] = []
        self.ready: Ready | None = None
        self.death: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def start(self) -> None:
        """Start the engine process; readiness comes later, as ``ready``."""
        ours, theirs = socket.socketpair()
        arguments = (str(theirs.fileno()), msgspec.json.encode(self._settings).decode())
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "whichbits.serve.embedded.engine", *arguments, pass_fds=[theirs.fileno()]
        )
        theirs.close()
        self._reader, self._writer = await asyncio.open_connection(sock=ours)
        self._listener = asyncio.create_task(self._listen())

    async def stop(self) -> None:
        """End the engine process at once; a step cannot be interrupted otherwise."""
        self._listener.cancel()
        self._writer.close()
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()

    async def generate(self, prompt: list[int], sampling: Sampling) -> AsyncIterator[Output]:
        """Yield what each step adds to the answer; leaving early cancels it and frees its blocks.

        Raises:
            EngineDied: if the engine process ends before the answer does.
        """
        number = next(self._numbers)
        outputs = self._streams[number] = asyncio.Queue()
        clock = self._metrics.arrived(len(prompt))
        finished = False
        try:
            self._send(Add(number, prompt, sampling))
            while not finished:
                output = await self._next(outputs)
                clock.tokens(len(output.tokens))
                if output.finish_reason is not None:
                    finished = True
                    clock.finished(output.finish_reason)
                yield output
        finally:
            del self._streams[number]
            if not finished:
                self._send(Cancel(number))
                clock.finished("abort")

    async def reset_prefix_cache(self) -> ResetDone:
        """Ask for an empty prefix cache; seconds, because the pipeline is built anew."""
        answer: asyncio.Future[ResetDone] = asyncio.get_running_loop().create_future()
        self._resets.append(answer)
        self._send(ResetPrefixCache())
        await asyncio.wait((answer, self.death), return_when=asyncio.FIRST_COMPLETED)
        if not answer.done():
            raise EngineDied(self.death.result())
        return answer.result()

    async def _next(self, outputs: "asyncio.Queue[Output]") -> Output:
        if outputs.empty() and self.death.done():
            raise EngineDied(self.death.result())
        output = await outputs.get()
        if output.error is not None and output.finish_reason == "abort" and self.death.done():
            raise EngineDied(self.death.result())
        return output

    def _send(self, message: ToEngine) -> None:
        if not self.death.done():
            self._writer.write(frame(message))

    async def _listen(self) -> None:
        try:
            while True:
                (length,) = LENGTH.unpack(await self._reader.readexactly(LENGTH.size))
                self._take(decode_from_engine(await self._reader.readexactly(length)))
        except (asyncio.IncompleteReadError, ConnectionError):
            self._die("the engine process ended without a word")

    def _take(self, message: FromEngine) -> None:
        match message:
            case Step():
                self._metrics.stepped(message)
                for output in message.outputs:
                    if output.sequence in self._streams:
                        self._streams[output.sequence].put_nowait(output)
            case Ready():
                self._metrics.kv_cache_tokens.set(message.kv_cache_tokens)
                self.ready = message
            case ResetDone():
                self._resets.pop(0).set_result(message)
            case Died(cause):
                self._die(cause)

    def _die(self, cause: str) -> None:
        """Tell everybody who waits; the first cause is the one that counts."""
        if self.death.done():
            return
        self.death.set_result(cause)
        for number, outputs in self._streams.items():
            outputs.put_nowait(Output(number, [], None, "abort", cause))
