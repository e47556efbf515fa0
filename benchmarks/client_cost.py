"""What the client costs an event and how late it stamps: a paced server in another process, the real loop here.

The server keeps the monotonic time of every send; gaps between stamps are compared with its own gaps.

    python benchmarks/client_cost.py --streams 1024 --cadence-ms 20 --tokens 200
"""

import argparse
import multiprocessing
import select
import socket
import time
from collections import deque
from collections.abc import Sequence
from heapq import heappop, heappush
from multiprocessing.connection import Connection as Pipe

import msgspec
import numpy as np

from whichbits.drive.part import CellPart, PartReport
from whichbits.drive.routing import DIRECT
from whichbits.drive.sending.open_files import allow_open_files
from whichbits.drive.sending.worker import drive_part
from whichbits.drive.target import Target
from whichbits.record.schema import RequestRecord
from whichbits.study.model import Limits
from whichbits.traffic.plan import PlannedRequest

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
EVENT = (
    b'data: {"id":"cmpl-3f6c1a20b7d94e55","object":"text_completion","created":1795963570,"model":"paced",'
    b'"choices":[{"index":0,"text":" word","logprobs":null,"finish_reason":%s,"token_ids":null}],'
    b'"usage":{"prompt_tokens":3,"total_tokens":%d,"completion_tokens":%d}}\n\n'
)


class PacedServer:
    """Answers each request with one event a cadence, against absolute deadlines; ``spread`` puts them out of step."""

    def __init__(self, cadence_ns: int, *, spread: bool) -> None:
        self._cadence_ns = cadence_ns
        self._spread = spread
        self._epoll = select.epoll()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=2048)
        self._epoll.register(self._listener.fileno(), select.EPOLLIN)
        self._sockets: dict[int, socket.socket] = {}
        self._due: list[tuple[int, int, int]] = []
        self._events: dict[int, list[bytes]] = {}
        self._made: dict[int, list[bytes]] = {}
        self.port = self._listener.getsockname()[1]
        self.sends: dict[int, list[int]] = {}

    def run(self, pipe: Pipe) -> None:
        self._epoll.register(pipe.fileno(), select.EPOLLIN)
        looked_ns = 0
        while True:
            now_ns = time.monotonic_ns()
            if now_ns - looked_ns > 2_000_000 or not self._due:
                looked_ns = now_ns
                for fd, _ in self._epoll.poll(0 if self._due else 0.01):
                    if fd == pipe.fileno():
                        return
                    self._ready(fd)
            elif self._due[0][0] > now_ns:
                time.sleep(min(self._due[0][0] - now_ns, 1_000_000) / 1e9)
            else:
                self._send_due(now_ns)

    def _send_due(self, now_ns: int) -> None:
        due = self._due
        for _ in range(64):
            if not due or due[0][0] > now_ns:
                return
            at_ns, fd, index = heappop(due)
            stamps = self.sends[index]
            events = self._events[fd]
            stamps.append(time.monotonic_ns())
            self._sockets[fd].send(events[len(stamps) - 1])
            if len(stamps) < len(events):
                heappush(due, (at_ns + self._cadence_ns, fd, index))

    def _ready(self, fd: int) -> None:
        if fd == self._listener.fileno():
            sock, _ = self._listener.accept()
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._sockets[sock.fileno()] = sock
            self._epoll.register(sock.fileno(), select.EPOLLIN)
            return
        data = self._sockets[fd].recv(65536)
        if not data:
            self._epoll.unregister(fd)
            self._sockets.pop(fd).close()
            return
        body = msgspec.json.decode(data.partition(b"\r\n\r\n")[2])
        index, tokens = body["prompt"][0], body["max_tokens"]
        self._events[fd] = self._made.setdefault(tokens, [])
        if not self._events[fd]:
            self._events[fd] += _events(tokens)
        self.sends[index] = []
        self._sockets[fd].send(HEAD)
        now_ns = time.monotonic_ns()
        phase_ns = self._cadence_ns * (index % 97) // 97 if self._spread else -(now_ns % self._cadence_ns)
        heappush(self._due, (now_ns + self._cadence_ns + phase_ns, fd, index))


def _events(count: int) -> list[bytes]:
    bodies = [EVENT % (b'"length"' if n == count else b"null", n + 3, n) for n in range(1, count + 1)]
    chunks = [b"%x\r\n%s\r\n" % (len(body), body) for body in bodies]
    chunks[-1] += b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n"
    return chunks


def serve(cadence_ns: int, spread: bool, pipe: Pipe) -> None:
    """Run the server until the pipe says stop; then send back what was sent when."""
    allow_open_files(12_000)
    server = PacedServer(cadence_ns, spread=spread)
    pipe.send(server.port)
    server.run(pipe)
    pipe.send((server.sends, time.process_time()))


class KeepingLead:
    """Starts at once and keeps the records."""

    def __init__(self) -> None:
        self.records: deque[RequestRecord] = deque()

    def start(self) -> int | None:
        return time.monotonic_ns() + 5_000_000

    def stopped(self) -> bool:
        return False

    def told(self, sent: int, finished: int, failed: int, chunks: int) -> None:
        pass

    def keep(self, records: Sequence[RequestRecord]) -> None:
        self.records.extend(records)


def measure(streams: int, cadence_ms: float, tokens: int, *, spread: bool) -> None:
    """Drive one part and print what it cost."""
    ours, theirs = multiprocessing.Pipe()
    context = multiprocessing.get_context("spawn")
    server = context.Process(target=serve, args=(round(cadence_ms * 1e6), spread, theirs))
    server.start()
    target = Target("127.0.0.1", ours.recv(), "paced")
    planned = tuple(PlannedRequest(index, (index, 1, 2), tokens, None) for index in range(streams))
    lead = KeepingLead()
    part_report = drive_part(CellPart((target,), planned, streams, False, Limits(), DIRECT, 0), lead)
    ours.send("stop")
    sends, server_cpu_s = ours.recv()
    server.join()
    report(list(lead.records), part_report, sends, server_cpu_s)


def report(records: list[RequestRecord], part: PartReport, sends: dict[int, list[int]], server_cpu_s: float) -> None:
    good = [record for record in records if record.succeeded]
    lags = np.concatenate([np.subtract(record.chunk_ns, sends[record.index]) for record in good]) / 1e6
    gaps = np.concatenate([np.diff(record.chunk_ns) for record in good]) / 1e6
    server_gaps = np.concatenate([np.diff(sends[record.index]) for record in good]) / 1e6
    seconds = (part.finished_ns - part.started_ns) / 1e9
    print(
        f"{len(good)} good, {len(records) - len(good)} failed, {len(lags)} events, {len(lags) / seconds:.0f} a second"
    )
    cpu_us, cpu_share = part.cpu_ns / 1e3 / len(lags), part.cpu_ns / seconds / 1e9
    print(f"  client            {cpu_us:.1f} us CPU an event, {cpu_share:.0%} of a core")
    print(f"  server            {server_cpu_s * 1e6 / len(lags):.1f} us CPU an event")
    for name, values_ms in (
        ("stamp after send", lags),
        ("ITL error", np.abs(gaps - server_gaps)),
        ("ITL sent", server_gaps),
        ("ITL seen", gaps),
        ("read lag", np.divide(part.read_lags_ns, 1e6)),
        ("loop lag", np.divide(part.loop_lags_ns, 1e6)),
        ("send lag", np.divide(part.send_lags_ns, 1e6)),
    ):
        print(f"  {name:17}", ", ".join(f"p{p} {np.percentile(values_ms, p):.3f}" for p in (50, 99, 99.9)), "ms")
    print(f"  gaps {part.gaps}, short {part.short_gaps}, merged {part.merged_gaps}, kernel {part.kernel_stamps}")


if __name__ == "__main__":
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--streams", type=int, default=512)
    flags.add_argument("--cadence-ms", type=float, default=20.0)
    flags.add_argument("--tokens", type=int, default=200)
    flags.add_argument("--in-step", action="store_true", help="all streams send at the same moments, as a batch does")
    given = flags.parse_args()
    measure(given.streams, given.cadence_ms, given.tokens, spread=not given.in_step)
