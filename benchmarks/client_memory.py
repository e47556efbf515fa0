"""Whether the client's memory stays flat: a long cell against a paced server, its processes weighed every few seconds.

What a cell takes for its plan and its connections it takes at once; what grows with its length is told as bytes a
chunk, for the lead and for the workers. At 12 bytes a chunk an hour at 20,000 tokens/s would be 0.9 GB.

    python benchmarks/client_memory.py --streams 200 --rate 50 --seconds 40 --workers 2
"""

import argparse
import asyncio
import multiprocessing
import tempfile
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import uvloop
from client_cost import serve

from whichbits.drive.cell import CellCapture, drive_cell
from whichbits.drive.crew.crew import Crew
from whichbits.drive.target import Target
from whichbits.study.model import Limits, Load
from whichbits.traffic.plan import PlannedRequest

TOKENS = 100
INTERVAL_SECONDS = 1.0


class Scales:
    """Weighs processes while a cell runs: bytes of their own, against chunks that have arrived."""

    def __init__(self) -> None:
        self.chunks = 0
        self.lead: list[tuple[int, int]] = []
        self.workers: list[tuple[int, int]] = []

    def told(self, sent: int, finished: int, failed: int, chunks: int) -> None:  # noqa: ARG002 - drive's Protocol
        self.chunks = chunks

    async def weigh(self, crew: Crew) -> None:
        me = psutil.Process()
        while True:
            await asyncio.sleep(INTERVAL_SECONDS)
            crew_members = [psutil.Process(worker.pid) for worker in crew.hired]
            self.lead.append((self.chunks, me.memory_full_info().uss))
            self.workers.append((self.chunks, sum(member.memory_full_info().uss for member in crew_members)))


async def weighed(driving: Coroutine[Any, Any, CellCapture], crew: Crew, scales: Scales) -> CellCapture:
    weighing = asyncio.ensure_future(scales.weigh(crew))
    try:
        return await driving
    finally:
        weighing.cancel()
        await asyncio.gather(weighing, return_exceptions=True)


def measure(streams: int, rate: float, seconds: float, workers: int) -> None:
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(round(1e9 / rate), True, theirs))
    server.start()
    target, scales = Target("127.0.0.1", ours.recv(), "paced"), Scales()
    planned = [PlannedRequest(n, (n, 1, 2), TOKENS, None) for n in range(round(streams * seconds * rate / TOKENS))]
    load, origin_ns = Load(concurrency=streams), time.monotonic_ns()
    with tempfile.TemporaryDirectory() as folder, Crew(workers) as crew:
        cell = drive_cell(
            [target],
            planned,
            load,
            Limits(),
            origin_ns,
            crew=crew,
            progress=scales.told,
            records=lambda number: Path(folder) / f"{number}.arrows",
        )
        capture = uvloop.run(weighed(cell, crew, scales))
        size = sum(part.stat().st_size for part in capture.parts)
    ours.send("stop")
    ours.recv()
    server.join()
    report(capture, scales, size)


def report(capture: CellCapture, scales: Scales, size: int) -> None:
    tokens, seconds = capture.tally.output_tokens, (capture.finished_ns - capture.started_ns) / 1e9
    print(f"{capture.tally.requests} requests, {capture.tally.failed} failed, {tokens} chunks in {seconds:.0f} s")
    for who, weights in (("lead", scales.lead), ("workers", scales.workers)):
        later = np.array(weights[len(weights) // 3 :])
        slope = np.polyfit(later[:, 0], later[:, 1], 1)[0]
        first, last = later[[0, -1], 1] / 2**20
        print(f"  {who:8} {first:.1f} MiB, at the end {last:.1f} MiB: {slope:.2f} B a chunk")
    print(f"  on disk  {size / tokens:.1f} B a chunk")
    print(f"  check    {capture.health}")


if __name__ == "__main__":
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--streams", type=int, default=200)
    flags.add_argument("--rate", type=float, default=50.0, help="tokens a second and stream")
    flags.add_argument("--seconds", type=float, default=40.0)
    flags.add_argument("--workers", type=int, default=2)
    given = flags.parse_args()
    measure(given.streams, given.rate, given.seconds, given.workers)
