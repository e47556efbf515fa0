"""The metric families of runs: what run.json tells of each, and of one that this process drives what happens now."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal, get_args

from whichbits.conduct.events import CellProgress
from whichbits.record.schema import Cell, CellState, ClientVerdict, Manifest
from whichbits.report.prometheus.family import Family, Sample, text
from whichbits.report.prometheus.latencies import Latencies
from whichbits.report.wording import load_text
from whichbits.serve.metrics.counters import EngineCounters

Phase = Literal["preparing", "starting", "warming_up", "measuring", "between_cells", "finished"]


@dataclass(frozen=True)
class Now:
    """What happens now; times are seconds, ``cells`` what run.json said when the cell in flight began."""

    phase: Phase = "preparing"
    cell: Cell | None = None
    progress: CellProgress | None = None
    cells: tuple[Cell, ...] = ()
    share: float = 0.0
    elapsed_s: float = 0.0
    left_s: float | None = None
    budget_s: float | None = None
    latencies: Mapping[tuple[str, str], Latencies] = field(default_factory=dict)
    """By arm and load."""
    engines: Mapping[str, EngineCounters] = field(default_factory=dict)
    """By replica of the arm that is measured."""


@dataclass(frozen=True)
class WatchedRun:
    """A run under way; ``now`` is None where another process drives it."""

    name: str
    manifest: Manifest
    now: Now | None = None

    @property
    def cells(self) -> tuple[Cell, ...]:
        """The cells as they are but for the one in flight: it may have ended since."""
        return self.now.cells if self.now is not None and self.now.cell is not None else self.manifest.cells

    @property
    def progress(self) -> CellProgress | None:
        """How far the cell in flight is."""
        return None if self.now is None else self.now.progress


def exposition(runs: Iterable[WatchedRun]) -> str:
    """Return the metrics of runs under way; each line names its run's folder."""
    every = list(runs)
    return text(_families(every))


def _families(runs: Sequence[WatchedRun]) -> Iterator[Family]:
    yield Family("whichbits_run_info", "gauge", "The study of a run under way; always 1.", _each(runs, _info))
    yield Family("whichbits_cells", "gauge", "Cells of a run by state.", _each(runs, _states))
    yield Family(
        "whichbits_client_verdicts",
        "gauge",
        "Cells that have ended by whether the client kept up: a cell that it limited says nothing of the arm.",
        _each(runs, _verdicts),
    )
    yield from _requests(runs)
    driven = [run for run in runs if run.now is not None]
    yield from _course(driven)
    yield from _latencies(driven)
    yield from _engines(driven)


def _requests(runs: Sequence[WatchedRun]) -> Iterator[Family]:
    yield Family(
        "whichbits_requests_finished_total",
        "counter",
        "Requests of measured cells that ended, well or not.",
        _each(runs, lambda run: _by_arm(run, "requests", lambda progress: progress.finished)),
    )
    yield Family(
        "whichbits_requests_failed_total",
        "counter",
        "Requests of measured cells that failed; in a cell under way only those whose connection broke.",
        _each(runs, lambda run: _by_arm(run, "failed", lambda progress: progress.failed)),
    )


def _course(runs: Sequence[WatchedRun]) -> Iterator[Family]:
    """Yield how far a study is."""
    gauges: tuple[tuple[str, str, Callable[[Now], float | None]], ...] = (
        ("whichbits_study_progress_ratio", "Share of the study's cells that is done, of a search that of its budget.",
         lambda now: now.share),
        ("whichbits_study_elapsed_seconds", "Time since the first server was started.", lambda now: now.elapsed_s),
        ("whichbits_study_remaining_seconds", "Time left as progress shows it; absent while not known.",
         lambda now: now.left_s),
        ("whichbits_study_budget_seconds", "What a search may still take at its start; absent without one.",
         lambda now: now.budget_s),
        ("whichbits_cell_requests", "Requests that the cell in flight will send.",
         lambda now: None if now.progress is None else now.progress.requests),
        ("whichbits_cell_requests_sent", "Of these, sent so far.",
         lambda now: None if now.progress is None else now.progress.sent),
        ("whichbits_cell_requests_finished", "Of these, ended so far.",
         lambda now: None if now.progress is None else now.progress.finished),
        ("whichbits_cell_output_chunks", "Pieces of answers received in the cell in flight: about one a token.",
         lambda now: None if now.progress is None else now.progress.output_tokens),
        ("whichbits_cell_elapsed_seconds", "Time since the cell in flight began.",
         lambda now: None if now.progress is None else now.progress.elapsed_s),
    )  # fmt: skip
    yield Family("whichbits_phase", "gauge", "1 for what the run does now, 0 for the others.", _each(runs, _phases))
    yield Family("whichbits_cell_info", "gauge", "The cell in flight; always 1.", _each(runs, _cell_info))
    for name, meaning, read in gauges:
        yield Family(name, "gauge", meaning, _each(runs, partial(_number, read=read)))


def _latencies(runs: Sequence[WatchedRun]) -> Iterator[Family]:
    meanings = {
        "ttft": "Time from a request's scheduled send to its first token.",
        "tpot": "Time per output token after the first, a value a request.",
        "itl": "Gaps between chunks of an answer.",
    }
    for name, meaning in meanings.items():
        samples = [
            sample
            for run in runs
            for (arm, load), latencies in (run.now.latencies if run.now else {}).items()
            for sample in getattr(latencies, name).samples({"run": run.name, "arm": arm, "load": load})
        ]
        told = f"{meaning} By the client, of requests that succeeded; counted when a cell has ended."
        yield Family(f"whichbits_{name}_seconds", "histogram", told, samples)


def _engines(runs: Sequence[WatchedRun]) -> Iterator[Family]:
    states = {
        "requests_running": ("whichbits_engine_requests_running", "Requests in the engine's batch"),
        "requests_waiting": ("whichbits_engine_requests_waiting", "Requests in the engine's queue"),
        "kv_cache_usage": ("whichbits_engine_kv_cache_usage_ratio", "Share of the engine's KV cache in use"),
    }
    for state, (name, meaning) in states.items():
        samples = [
            Sample({"run": run.name, "arm": run.now.cell.arm, "replica": replica}, value)
            for run in runs
            if run.now is not None and run.now.cell is not None
            for replica, counters in run.now.engines.items()
            if (value := getattr(counters, state)) is not None
        ]
        yield Family(name, "gauge", f"{meaning}, by its own /metrics; of the cell in flight.", samples)


def _each(runs: Sequence[WatchedRun], read: Callable[[WatchedRun], Iterable[Sample]]) -> list[Sample]:
    """Return the samples of every run, with its name."""
    return [sample._replace(labels={"run": run.name, **sample.labels}) for run in runs for sample in read(run)]


def _info(run: WatchedRun) -> Iterator[Sample]:
    yield Sample({"study": run.manifest.name, "created": run.manifest.created}, 1)


def _states(run: WatchedRun) -> Iterator[Sample]:
    states = Counter(cell.state for cell in run.manifest.cells)
    return (Sample({"state": state}, states[state]) for state in get_args(CellState))


def _verdicts(run: WatchedRun) -> Iterator[Sample]:
    verdicts = Counter(cell.client.verdict for cell in run.manifest.cells if cell.client is not None)
    for verdict in get_args(ClientVerdict):
        yield Sample({"verdict": verdict.removeprefix("client_")}, verdicts[verdict])


def _by_arm(run: WatchedRun, ended: str, under_way: Callable[[CellProgress], int]) -> Iterator[Sample]:
    current = run.now.cell if run.now is not None else None
    for arm in dict.fromkeys([*run.manifest.study.get("arms", {}), *(cell.arm for cell in run.cells)]):
        total = sum(
            getattr(cell, ended) or 0
            for cell in run.cells
            if cell.arm == arm and (current is None or cell.cell != current.cell)
        )
        if run.progress is not None and current is not None and current.arm == arm:
            total += under_way(run.progress)
        yield Sample({"arm": arm}, total)


def _phases(run: WatchedRun) -> Iterator[Sample]:
    return (Sample({"phase": phase}, run.now is not None and run.now.phase == phase) for phase in get_args(Phase))


def _cell_info(run: WatchedRun) -> Iterator[Sample]:
    """Count repeats from 1, as people and reports do; the tables of data count from 0."""
    if run.now is not None and (cell := run.now.cell) is not None:
        yield Sample({"arm": cell.arm, "load": load_text(cell), "repeat": str(cell.repeat + 1)}, 1)


def _number(run: WatchedRun, read: Callable[[Now], float | None]) -> Iterator[Sample]:
    if run.now is not None and (value := read(run.now)) is not None:
        yield Sample({}, value)
