"""The client's verdict on itself against the truth: short cells, many of which it cannot do.

    python benchmarks/client_verdicts.py --cells 200

By the truth the client was the limit where p99 of the error of ITL is above max(1 ms, 10 % of the true mean gap), or
that of TTFT (from the schedule) above max(1 ms, 10 % of its median). Errors are against what the mock really sent, so
they hold even where the mock was late; such cells are counted apart as well. The verdict is right if it is suspect or
limited exactly in those cells.
"""

import argparse
import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import uvloop
from disturbances import burner, stopper
from paced import Paced, paced
from verdict_cells import VerdictCell, cells

from whichbits.conduct.self_test.compare import lateness_ms
from whichbits.drive.cell import CellCapture, drive_cell
from whichbits.drive.crew.crew import Crew
from whichbits.drive.target import Target
from whichbits.record.schema import RequestRecord
from whichbits.serve.mock.engine.truth import TrueRequest
from whichbits.study.model import Limits

FLOOR_MS, SHARE = 1.0, 0.1
LATE_MOCK_MS = 1.0
_MS = 1e6
Truth = Mapping[int, TrueRequest]


@dataclass(frozen=True)
class Judged:
    """A cell with its true errors (ms; p99), what they may be at most, and the client's own word."""

    cell: VerdictCell
    chunks_per_s: float
    itl_error: float
    itl_bound: float
    ttft_error: float
    ttft_bound: float
    mock_lag: float
    failed: int
    verdict: str
    numbers: dict[str, float | None]
    reasons: tuple[str, ...]

    @property
    def limited(self) -> bool:
        """Whether the client was the limit, by the truth."""
        return self.itl_error > self.itl_bound or self.ttft_error > self.ttft_bound

    @property
    def said(self) -> bool:
        """Whether the client said so."""
        return self.verdict != "client_ok"


def judge(cell: VerdictCell, crews: Mapping[int, Crew]) -> Judged:
    crew = crews[cell.workers]
    with paced(cell.settings) as mock:
        capture = _drive(cell, mock, crew)
        return _judged(cell, capture, mock.truth())


def _drive(cell: VerdictCell, mock: Paced, crew: Crew) -> CellCapture:
    target = Target(mock.host, mock.port, mock.model)
    pid = crew.take(cell.workers)[0].pid or os.getpid()
    driving = drive_cell([target], cell.planned(), cell.load, Limits(), 0, crew=crew)
    with ExitStack() as disturbances:
        if cell.burn:
            disturbances.enter_context(burner(pid, cell.burn))
        if cell.stop is not None:
            disturbances.enter_context(stopper(pid, *cell.stop))
        return uvloop.run(driving)


def _judged(cell: VerdictCell, capture: CellCapture, truth: Truth) -> Judged:
    good = [record for record in capture.records if record.succeeded]
    health = capture.health
    gaps = np.concatenate([np.diff(truth[record.index].chunk_ns) for record in good]) / _MS
    itl_errors = np.concatenate([np.diff(record.chunk_ns) / _MS for record in good]) - gaps
    ttft_errors, ttft = zip(*(_ttft(record, truth[record.index]) for record in good), strict=True)
    return Judged(
        cell=cell,
        chunks_per_s=len(gaps) / ((capture.finished_ns - capture.started_ns) / 1e9),
        itl_error=_p99(itl_errors),
        itl_bound=max(FLOOR_MS, SHARE * float(gaps.mean())),
        ttft_error=_p99(np.array(ttft_errors)),
        ttft_bound=max(FLOOR_MS, SHARE * float(np.median(ttft))),
        mock_lag=lateness_ms(truth.values()),
        failed=len(capture.records) - len(good),
        verdict=health.verdict,
        numbers={
            name: value
            for name, value in asdict(health).items()
            if isinstance(value, (int, float)) and not isinstance(value, bool)
        },
        reasons=health.reasons,
    )


def _ttft(record: RequestRecord, true: TrueRequest) -> tuple[float, float]:
    """Return what the client added to a TTFT from the schedule, and the server's part of it; ms."""
    sent_ns = record.sent_ns or 0
    added_ns = (sent_ns - record.scheduled_ns) + (record.chunk_ns[0] - true.sent_ns[0])
    return added_ns / _MS, (true.sent_ns[0] - sent_ns) / _MS


def _p99(errors: "np.typing.NDArray[np.float64]") -> float:
    return float(np.percentile(np.abs(errors), 99))


def line(number: int, judged: Judged) -> str:
    cell = judged.cell
    held_back = f"neighbour {cell.burn:.0%}" if cell.burn else ""
    if cell.stop is not None:
        held_back = "stopped {:g} of {:g} ms".format(*cell.stop)
    what = f"{cell.kind}, {cell.arrivals}" if cell.arrivals != "closed" else cell.kind
    if cell.kind == "bundled":
        what += f" {cell.tokens_per_chunk}x{cell.events_per_send}, jitter {cell.jitter:g}"
    return (
        f"| {number} | {what} | {cell.streams} | {cell.itl_ms:g} | {cell.ttft_ms:g} | {cell.cadence} | {held_back} "
        f"| {judged.chunks_per_s:,.0f} | {judged.itl_error:.2f} of {judged.itl_bound:.1f} "
        f"| {judged.ttft_error:.1f} of {judged.ttft_bound:.1f} | {judged.mock_lag:.2f} "
        f"| {'yes' if judged.limited else 'no'} | {judged.verdict.removeprefix('client_')} "
        f"| {'' if judged.limited == judged.said else 'MISSED' if judged.limited else 'FALSE ALARM'} |"
    )


HEAD = (
    "| # | cell | streams | ITL | TTFT | cadence | held back | chunks/s | ITL error p99 | TTFT error p99 "
    "| mock late p99 | was the limit | verdict | |\n|---:|---|---:|---:|---:|---|---|---:|---:|---:|---:|---|---|---|"
)


def confusion(judged: Iterable[Judged], title: str) -> str:
    counts = Counter((each.limited, each.verdict) for each in judged)
    verdicts = ("client_ok", "client_suspect", "client_limited")
    rows = [
        f"| the client was{'' if limited else ' not'} the limit | "
        + " | ".join(str(counts[limited, verdict]) for verdict in verdicts)
        + " |"
        for limited in (True, False)
    ]
    return "\n".join([f"| {title} | ok | suspect | limited |", "|---|---:|---:|---:|", *rows])


def main() -> None:
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--cells", type=int, default=200)
    flags.add_argument("--seed", type=int, default=6)
    flags.add_argument("--json", type=Path, help="file for one JSON object a cell")
    given = flags.parse_args()
    print(HEAD)
    found: list[Judged] = []
    with Crew(1) as one, Crew(2) as two:
        for number, cell in enumerate(cells(given.cells, given.seed)):
            found.append(judge(cell, {1: one, 2: two}))
            print(line(number, found[-1]), flush=True)
    print("\n" + confusion(found, "all cells") + "\n")
    print(confusion([each for each in found if each.mock_lag <= LATE_MOCK_MS], "the mock in time"))
    if given.json is not None:
        told = [asdict(each) | {"limited": each.limited} for each in found]
        given.json.write_text("".join(json.dumps(each) + "\n" for each in told), encoding="utf-8")


if __name__ == "__main__":
    main()
