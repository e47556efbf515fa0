"""When each request of a cell was planned, sent, answered and done: all of them, or a sample by a stated rule."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from whichbits.analyze.latency.times import NS_PER_MS, e2e_ms, ttft_ms
from whichbits.record.run import Run
from whichbits.record.schema import Cell
from whichbits.record.timelines import Floats, Ints, Timelines

MOST_A_CELL = 300
MOST_A_RUN = 12_000
LEAST_A_CELL = 30
"""More requests than ``MOST_A_RUN`` would not fit a page; fewer than ``LEAST_A_CELL`` of a cell would not show it."""

_PART_OF_FAILED, _PART_OF_SLOWEST = 4, 8
"""A quarter of a sample may have failed, an eighth each is slow in one of three ways; the rest is spaced evenly."""


@dataclass(frozen=True)
class RequestTimes:
    """One request; times in ms since the cell's first planned arrival, None where it never came so far.

    ``ended_ms`` is the last that is known of it. ``gap_ms`` is the longest time between two of its chunks, which
    began at ``gap_from_ms``.
    """

    index: int
    planned_ms: float
    sent_ms: float | None
    first_ms: float | None
    last_ms: float | None
    ended_ms: float
    output_tokens: int | None
    gap_from_ms: float | None
    gap_ms: float | None
    replica: str | None = None
    error: str | None = None


@dataclass(frozen=True)
class Sample:
    """How many requests stand for a cell, and why they were taken; each counts where it was taken first."""

    total: int
    failed: int
    slow_to_first: int
    slow_in_all: int
    long_gaps: int
    even: int

    @property
    def shown(self) -> int:
        """Return how many there are."""
        return self.failed + self.slow_to_first + self.slow_in_all + self.long_gaps + self.even

    @property
    def whole(self) -> bool:
        """True if every request of the cell is there."""
        return self.shown == self.total


@dataclass(frozen=True)
class CellRequests:
    """The requests of a cell in the order of their sends."""

    cell: Cell
    sample: Sample
    failed: int
    requests: tuple[RequestTimes, ...]


def request_timelines(run: Run, cells: Collection[int] | None = None) -> tuple[CellRequests, ...]:
    """Return the requests of the cells that have any whose times are known against each other; of ``cells``, or all.

    The same run gives the same sample. With more than ``MOST_A_RUN / LEAST_A_CELL`` cells, later repeats are left
    out first.

    Raises:
        BadInput: ``run_broken`` if the requests cannot be read.
    """
    asked = run.cells_with_requests
    told = [cell for cell in run.cells if _on_one_clock(cell) and cell.cell in asked]
    known = [cell for cell in told if cells is None or cell.cell in cells]
    shown = sorted(known, key=lambda cell: (cell.repeat, cell.cell))[: MOST_A_RUN // LEAST_A_CELL]
    most = min(MOST_A_CELL, MOST_A_RUN // max(1, len(shown)))
    in_file_order = sorted(shown, key=lambda each: each.cell)
    return tuple(cell_requests(cell, run.of_cell(cell.cell), most) for cell in in_file_order)


def cell_requests(cell: Cell, table: pa.Table, most: int = MOST_A_CELL) -> CellRequests:
    """Return at most ``most`` requests of a cell; the table has at least one row."""
    timelines = Timelines.of(table)
    gaps_ns, gaps_from_ns = _longest_gaps(timelines)
    taken = _sample(timelines, gaps_ns, most)
    rows = np.concatenate([*taken.values()])
    sent = np.where(np.isnan(timelines.sent_ns), timelines.scheduled_ns, timelines.sent_ns)
    rows = rows[np.lexsort((rows, sent[rows]))]
    return CellRequests(
        cell=cell,
        sample=Sample(total=len(timelines), **{name: len(each) for name, each in taken.items()}),
        failed=int(np.count_nonzero(~timelines.succeeded)),
        requests=tuple(_requests(table.take(pa.array(rows)), timelines, rows, gaps_ns, gaps_from_ns)),
    )


def _on_one_clock(cell: Cell) -> bool:
    return cell.imported is None or cell.imported.one_clock


def _sample(timelines: Timelines, gaps_ns: Floats, most: int) -> dict[str, Ints]:
    """Return the rows taken, by the reason for which each was taken first."""
    every = np.arange(len(timelines))
    names = ("failed", "slow_to_first", "slow_in_all", "long_gaps")
    if len(timelines) <= most:
        return dict.fromkeys(names, every[:0]) | {"even": every}
    taken = {"failed": _evenly(every[~timelines.succeeded], most // _PART_OF_FAILED)}
    for name, values in zip(names[1:], (ttft_ms(timelines), e2e_ms(timelines), gaps_ns), strict=True):
        left = np.setdiff1d(every, np.concatenate([*taken.values()]))
        taken[name] = _highest(values, left, most // _PART_OF_SLOWEST)
    left = np.setdiff1d(every, np.concatenate([*taken.values()]))
    room = most - sum(map(len, taken.values()))
    return taken | {"even": _evenly(left, room)}


def _highest(values: Floats, rows: Ints, most: int) -> Ints:
    """Return the rows of the highest values that are known; of equals, the first."""
    known = rows[~np.isnan(values[rows])]
    return known[np.argsort(-values[known], kind="stable")[:most]]


def _evenly(rows: Ints, most: int) -> Ints:
    """Return rows evenly spaced from the first to the last."""
    if len(rows) <= most:
        return rows
    return rows[np.linspace(0, len(rows) - 1, most).round().astype(np.int64)]


def _longest_gaps(timelines: Timelines) -> tuple[Floats, Floats]:
    """Return the longest gap of each request and when it began, NaN where it has fewer than two chunks."""
    longest, begun = (np.full(len(timelines), np.nan) for _ in range(2))
    several = np.flatnonzero(timelines.chunks > 1)
    if not len(several):
        return longest, begun
    gaps = np.append(np.diff(timelines.chunk_ns), 0)
    # The gap behind a request's last chunk leads to another request.
    gaps[timelines.offsets[several + 1] - 1] = np.iinfo(np.int64).min
    # Each stretch ends at its own last chunk, since requests of one chunk may lie between those of several.
    ends = np.stack([timelines.offsets[several], timelines.offsets[several + 1]], axis=1).ravel()
    longest[several] = np.maximum.reduceat(np.append(gaps, 0), ends)[::2]
    of_chunk = np.repeat(np.arange(len(timelines)), timelines.chunks)
    places = np.flatnonzero(gaps == longest[of_chunk])
    requests, first = np.unique(of_chunk[places], return_index=True)
    begun[requests] = timelines.chunk_ns[places[first]]
    return longest, begun


def _requests(
    table: pa.Table, timelines: Timelines, rows: Ints, gaps_ns: Floats, gaps_from_ns: Floats
) -> Iterable[RequestTimes]:
    origin = float(timelines.scheduled_ns.min())
    first, last = timelines.first_chunk_ns, timelines.last_chunk_ns
    known = np.stack([timelines.scheduled_ns, timelines.sent_ns, last, timelines.finished_ns])
    # Of a good answer, what counts ends with its last token; a failed one ends when the client gave it up.
    ended = np.where(timelines.succeeded & ~np.isnan(last), last, np.nanmax(known, axis=0))
    told = zip(*(table[name].to_pylist() for name in ("index", "output_tokens", "replica", "error_code")), strict=True)
    for row, (index, tokens, replica, error) in zip(rows.tolist(), told, strict=True):
        yield RequestTimes(
            index=index,
            planned_ms=(timelines.scheduled_ns[row] - origin) / NS_PER_MS,
            sent_ms=_ms(timelines.sent_ns[row] - origin),
            first_ms=_ms(first[row] - origin),
            last_ms=_ms(last[row] - origin),
            ended_ms=float(ended[row] - origin) / NS_PER_MS,
            output_tokens=tokens,
            gap_from_ms=_ms(gaps_from_ns[row] - origin),
            gap_ms=_ms(gaps_ns[row]),
            replica=replica,
            error=error,
        )


def _ms(nanoseconds: float) -> float | None:
    return None if np.isnan(nanoseconds) else float(nanoseconds) / NS_PER_MS
