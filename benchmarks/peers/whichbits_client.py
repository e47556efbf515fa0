"""whichbits' client as in a run: a crew of one worker process, and the process that leads it; both are charged."""

import time
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlsplit

import uvloop
from orders import Order, Result, Seen, prompt, serve

from whichbits.drive.cell import CellCapture, drive_cell
from whichbits.drive.crew.crew import Crew
from whichbits.drive.target import Target
from whichbits.record.schema import RequestRecord
from whichbits.study.model import Limits, Load
from whichbits.traffic.plan import PlannedRequest

_NS = 1e9


def carry_out(order: Order, crew: Crew) -> Result:
    cell = drive_cell([_target(order)], planned(order), _load(order), Limits(), time.monotonic_ns(), crew=crew)
    began_s = _cpu_s(crew)
    capture: CellCapture = uvloop.run(cell)
    used_s = _cpu_s(crew) - began_s
    seen = [_seen(record) for record in capture.records if record.succeeded]
    return Result(used_s, seen, capture.health.verdict, list(capture.health.reasons))


def planned(order: Order) -> list[PlannedRequest]:
    return [
        PlannedRequest(index, tuple(prompt(index)), order.tokens, round(order.offset_s(index) * _NS))
        for index in range(order.streams)
    ]


def _target(order: Order) -> Target:
    where = urlsplit(order.url)
    return Target(where.hostname or "", where.port or 0, order.model)


def _load(order: Order) -> Load:
    """Return a load whose requests leave at their offsets, with no more connections than streams."""
    return Load(request_rate=order.streams / (order.ramp_s or 1.0), concurrency=order.streams)


def _seen(record: RequestRecord) -> Seen:
    times = record.chunk_ns
    gaps = [(after - before) / _NS for before, after in pairwise(times)]
    return Seen(record.index, (times[0] - (record.sent_ns or 0)) / _NS, gaps)


def _cpu_s(crew: Crew) -> float:
    """Return what the lead and its workers have used since they began."""
    return time.process_time() + sum(_of_process_s(worker.pid) for worker in crew.hired if worker.pid is not None)


def _of_process_s(pid: int) -> float:
    """Return a process's CPU time to the nanosecond, over all of its threads."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / _NS


def main() -> None:
    with Crew(1) as crew:
        crew.take(1)
        serve(lambda order: carry_out(order, crew))


if __name__ == "__main__":
    main()
