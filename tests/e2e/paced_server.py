"""A paced fake engine with the embedded one's face; ``paced_server.py PORT OPTIONS``, OPTIONS as JSON.

Options, beside ``token_ms``, and ``stream_ms``, which every other answer in flight adds to a token: ``dies`` or
``hangs`` while loading; ``mute`` never answers a completion; ``sleeps`` has /sleep and /wake_up, as vLLM's
--enable-sleep-mode gives, and ``sleepless`` lacks them even so. Counted from the server's first request: ``stalls_at``
waits there until the file ``gate`` exists, ``dies_at`` ends the process in mid-answer, ``refuses_at`` answers 500 from
there on. Its profiler writes a trace of a GPU into ``trace_folder``, a kernel for each token; ``without_profiler``
answers 404 there.
"""

import asyncio
import json
import os
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web


@dataclass
class PacedServer:
    """Answers every request with as many tokens as asked for, and counts."""

    options: dict[str, Any]
    requests: int = 0
    profiled: list[float] | None = None
    running: int = 0
    in_flight: int = 0
    sleeping: bool = False
    counters: dict[str, int] = field(
        default_factory=lambda: {"prompt_tokens": 0, "generation_tokens": 0, "request_success": 0}
    )

    async def health(self, _: web.Request) -> web.Response:
        return web.Response(status=503 if self.options.get("hangs") else 200)

    async def models(self, _: web.Request) -> web.Response:
        return web.json_response({"data": [{"id": "paced"}]})

    async def metrics(self, _: web.Request) -> web.Response:
        counted = "".join(f"embedded:{name}_total {count}\n" for name, count in self.counters.items())
        return web.Response(text=f"{counted}embedded:num_requests_running {self.running}\n")

    async def reset_prefix_cache(self, _: web.Request) -> web.Response:
        return web.json_response({"success": True})

    async def start_profile(self, _: web.Request) -> web.Response:
        if self.options.get("without_profiler"):
            return web.Response(status=404)
        self.profiled = []
        return web.Response()

    async def stop_profile(self, _: web.Request) -> web.Response:
        tokens, self.profiled = self.profiled or [], None
        await asyncio.to_thread(self._write_trace, tokens)
        return web.Response()

    def _write_trace(self, tokens: list[float]) -> None:
        folder = Path(self.options["trace_folder"])
        folder.mkdir(parents=True, exist_ok=True)
        kernel = {"ph": "X", "cat": "kernel", "name": "nvjet_tst_64x8", "dur": 1000.0, "args": {"device": 0}}
        events = [{**kernel, "ts": time * 1e6} for time in tokens]
        (folder / f"rank0.{self.requests}.pt.trace.json").write_text(json.dumps({"traceEvents": events}))

    async def sleep(self, _: web.Request) -> web.Response:
        if not self.options.get("sleeps") or self.options.get("sleepless"):
            return web.Response(status=404)
        self.sleeping = True
        print("asleep", flush=True)
        return web.Response()

    async def wake_up(self, _: web.Request) -> web.Response:
        self.sleeping = False
        print("awake", flush=True)
        return web.Response()

    async def is_sleeping(self, _: web.Request) -> web.Response:
        return web.json_response({"is_sleeping": self.sleeping})

    async def completions(self, http: web.Request) -> web.StreamResponse:
        if self.sleeping:
            return web.json_response({"error": {"message": "asleep"}}, status=500)
        request = await http.json()
        self.requests += 1
        if self._reached("refuses_at"):
            return web.json_response({"error": {"message": "out of patience"}}, status=500)
        self.running += 1
        try:
            while self._stalls():  # noqa: ASYNC110 - a file has no event
                await asyncio.sleep(0.01)
            self.in_flight += 1
            try:
                return await self._stream(
                    http, prompt_tokens=len(request["prompt"]), output_tokens=request["max_tokens"]
                )
            finally:
                self.in_flight -= 1
        finally:
            self.running -= 1

    async def _stream(self, http: web.Request, prompt_tokens: int, output_tokens: int) -> web.StreamResponse:
        answer = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await answer.prepare(http)
        self.counters["prompt_tokens"] += prompt_tokens
        for token in range(1, output_tokens + 1):
            await asyncio.sleep(self._token_ms() / 1000)
            self.counters["generation_tokens"] += 1
            if self.profiled is not None:
                self.profiled.append(time.monotonic())
            finish = "length" if token == output_tokens else None
            usage = {"prompt_tokens": prompt_tokens, "completion_tokens": token}
            choice = {"index": 0, "text": "x", "finish_reason": finish}
            await answer.write(_event(json.dumps({"choices": [choice], "usage": usage})))
            if self._reached("dies_at"):
                print("RuntimeError: the card fell off the bus", flush=True)
                os._exit(9)
        self.counters["request_success"] += 1
        await answer.write(_event("[DONE]"))
        return answer

    def _token_ms(self) -> float:
        return float(self.options.get("token_ms", 5) + self.options.get("stream_ms", 0) * (self.in_flight - 1))

    def _stalls(self) -> bool:
        return self.options.get("mute", False) or (
            self._reached("stalls_at") and not Path(self.options["gate"]).exists()
        )

    def _reached(self, option: str) -> bool:
        return option in self.options and self.requests >= self.options[option]


def _event(data: str) -> bytes:
    return f"data: {data}\n\n".encode()


def main(port: str, options: str) -> None:
    server = PacedServer(json.loads(options))
    if server.options.get("dies"):
        print("loading\nRuntimeError: the weights are torn", flush=True)
        sys.exit(7)
    application = web.Application()
    application.router.add_get("/health", server.health)
    application.router.add_get("/metrics", server.metrics)
    application.router.add_get("/v1/models", server.models)
    application.router.add_post("/reset_prefix_cache", server.reset_prefix_cache)
    application.router.add_get("/is_sleeping", server.is_sleeping)
    application.router.add_post("/sleep", server.sleep)
    application.router.add_post("/wake_up", server.wake_up)
    application.router.add_post("/v1/completions", server.completions)
    application.router.add_post("/start_profile", server.start_profile)
    application.router.add_post("/stop_profile", server.stop_profile)
    web.run_app(
        application,
        host="127.0.0.1",
        port=int(port),
        print=None,
        access_log=None,
        handler_cancellation=True,
        shutdown_timeout=0,
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
