"""What the client costs and how late it stamps: a paced server in another process, the real driver here.

The server keeps the monotonic time of every send; each chunk stamp is compared with its own.

    python benchmarks/client_cost.py --streams 1000 --rate 20 --tokens 200
"""

import argparse
import asyncio
import multiprocessing
import time
from multiprocessing.connection import Connection as Pipe

import msgspec
import numpy as np
import uvloop

from whichbits.drive.cell import CellCapture, drive_cell
from whichbits.drive.target import Target
from whichbits.study.model import Limits, Load
from whichbits.traffic.plan import PlannedRequest

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
EVENT = (
    b'data: {"id":"cmpl-3f6c1a20b7d94e55","object":"text_completion","created":1795963570,"model":"paced",'
    b'"choices":[{"index":0,"text":" word","logprobs":null,"finish_reason":%s,"token_ids":null}],'
    b'"usage":{"prompt_tokens":3,"total_tokens":%d,"completion_tokens":%d}}\n\n'
)


class PacedServer(asyncio.Protocol):
    """Answers each request with one event every ``gap_s``, against absolute deadlines."""

    def __init__(self, gap_s: float, sends: dict[int, list[int]]) -> None:
        self._gap_s = gap_s
        self._sends = sends
        self._loop = asyncio.get_running_loop()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        body = msgspec.json.decode(data.partition(b"\r\n\r\n")[2])
        self._events = _events(body["max_tokens"])
        self._stamps = self._sends.setdefault(body["prompt"][0], [])
        self._transport.write(HEAD)  # type: ignore[attr-defined]
        # Streams start out of step, as requests in a server are not.
        self._due_s = self._loop.time() + self._gap_s * (body["prompt"][0] % 97 / 97)
        self._loop.call_at(self._due_s, self._send)

    def _send(self) -> None:
        event = self._events[len(self._stamps)]
        self._stamps.append(time.monotonic_ns())
        self._transport.write(event)  # type: ignore[attr-defined]
        if len(self._stamps) < len(self._events):
            self._due_s += self._gap_s
            self._loop.call_at(self._due_s, self._send)


def _events(count: int) -> list[bytes]:
    bodies = [EVENT % (b'"length"' if n == count else b"null", n + 3, n) for n in range(1, count + 1)]
    chunks = [b"%x\r\n%s\r\n" % (len(body), body) for body in bodies]
    chunks[-1] += b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n"
    return chunks


def serve(gap_s: float, pipe: Pipe) -> None:
    """Run the server until the pipe says stop; then send back what was sent when."""

    async def main() -> None:
        sends: dict[int, list[int]] = {}
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: PacedServer(gap_s, sends), "127.0.0.1", 0, backlog=2048)
        pipe.send(server.sockets[0].getsockname()[1])
        await asyncio.to_thread(pipe.recv)
        pipe.send((sends, time.process_time()))
        server.close()

    uvloop.run(main())


def measure(streams: int, rate: float, tokens: int) -> None:
    """Drive one cell and print what it cost."""
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(1 / rate, theirs))
    server.start()
    target = Target("127.0.0.1", ours.recv(), "paced")
    planned = [PlannedRequest(index, (index, 1, 2), tokens, None) for index in range(streams)]
    capture = uvloop.run(drive_cell([target], planned, Load(concurrency=streams), Limits(), 0))
    ours.send("stop")
    sends, server_cpu_s = ours.recv()
    server.join()
    report(capture, sends, server_cpu_s)


def report(capture: CellCapture, sends: dict[int, list[int]], server_cpu_s: float) -> None:
    failed = [record for record in capture.records if not record.succeeded]
    good = [record for record in capture.records if record.succeeded]
    lags = np.concatenate([np.subtract(record.chunk_ns, sends[record.index]) for record in good]) / 1e6
    gaps = np.concatenate([np.diff(record.chunk_ns) for record in good]) / 1e6
    server_gaps = np.concatenate([np.diff(sends[record.index]) for record in good]) / 1e6
    seconds = (capture.finished_ns - capture.started_ns) / 1e9
    cpu_us = (capture.health.cpu_share or float("nan")) * seconds * 1e6 / len(lags)
    print(f"{len(good)} good, {len(failed)} failed, {len(lags)} events in {seconds:.1f} s")
    print(f"  client      {cpu_us:.1f} us CPU an event, {capture.health.cpu_share:.0%} of a core")
    print(f"  server      {server_cpu_s * 1e6 / len(lags):.1f} us CPU an event")
    print(f"  stamp lag   p50 {np.percentile(lags, 50):.3f} ms, p99 {np.percentile(lags, 99):.2f} ms")
    for who, values in (("sent", server_gaps), ("seen", gaps)):
        print(f"  ITL {who}    p50 {np.percentile(values, 50):.1f} ms, p99 {np.percentile(values, 99):.1f} ms")
    print(f"  self-check  {capture.health}")


if __name__ == "__main__":
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--streams", type=int, default=500)
    flags.add_argument("--rate", type=float, default=20.0, help="tokens a second and stream")
    flags.add_argument("--tokens", type=int, default=160)
    given = flags.parse_args()
    measure(given.streams, given.rate, given.tokens)
