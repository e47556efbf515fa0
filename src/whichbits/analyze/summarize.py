"""Turns a run into its summary: every cell in numbers, then what follows from them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import pyarrow as pa
from pydantic import ValidationError

from whichbits.analyze.arms import arm_summary
from whichbits.analyze.cache.planned import PlannedCache
from whichbits.analyze.cells.cell import cell_summary
from whichbits.analyze.cells.noise import Replicates, intervals, replicates
from whichbits.analyze.conclude import Inputs, conclude
from whichbits.analyze.crossings.pairing import Resampled
from whichbits.analyze.curves.cost import priced, prices
from whichbits.analyze.engine.books import differences, pages
from whichbits.analyze.engine.counted import CellCounts, counted
from whichbits.analyze.engine.explanations import Page
from whichbits.analyze.engine.telemetry import gpu_telemetry
from whichbits.analyze.kernels.profile import Profile, read_profiles
from whichbits.analyze.load.shape import load_shape
from whichbits.analyze.quality.judge import read_quality
from whichbits.analyze.summary import CellSummary, Summary
from whichbits.errors import BadInput
from whichbits.record.run import Run
from whichbits.record.schema import Cell
from whichbits.record.timelines import Timelines
from whichbits.study.model import Slo


@dataclass(frozen=True)
class Examined:
    """A run's summary, and its cells resampled: all that a comparison needs beside it."""

    summary: Summary
    resampled: Resampled


@dataclass(frozen=True)
class _Read:
    """What is kept of a cell once its requests are let go."""

    summary: CellSummary
    replicates: Replicates
    pages: Sequence[Page]


def summarize(run: Run) -> Summary:
    """Analyse a run, finished or not.

    Raises:
        BadInput: the run is damaged, or its SLO or a prediction is not one.
    """
    return examine(run).summary


def examine(run: Run) -> Examined:
    """Analyse a run, and keep the resamples of its cells.

    Each cell is read once, and one row group at a time is in memory: a run may be larger.

    Raises:
        BadInput: as of ``summarize``.
    """
    counts = counted(run.each_scrape())
    slo, cache = slo_of(run), PlannedCache(run.manifest)
    read = {cell.cell: _cell(run, cell, counts.get(cell.cell, {}), slo, cache) for cell in run.cells}
    resampled = {number: cell.replicates for number, cell in read.items()}
    described = {arm: arm_summary(run.manifest, record) for arm, record in run.manifest.arms.items()}
    inputs = Inputs(
        manifest=run.manifest,
        run=run.folder.resolve().name,
        arms=described,
        cells=tuple(cell.summary for cell in read.values()),
        resampled=resampled,
        differences=differences(page for cell in read.values() for page in cell.pages),
        profiles=_profiles(run, tuple(described)),
        interrupted=run.interrupted,
        quality=read_quality(run.folder, run.manifest),
    )
    return Examined(conclude(inputs), resampled)


def summary_json(summary: Summary) -> bytes:
    """Return summary.json; what is unknown is null."""
    return msgspec.json.format(msgspec.json.encode(summary, enc_hook=str), indent=2) + b"\n"


def _cell(run: Run, cell: Cell, counts: CellCounts, slo: Slo | None, cache: PlannedCache) -> _Read:
    requests = run.of_cell(cell.cell)
    timelines = Timelines.of(requests)
    resampled = replicates(cell, requests, slo, timelines)
    shape, expected = load_shape(cell, run.manifest.study), cache.expected(cell, requests, counts)
    plain = cell_summary(cell, requests, counts, slo, expected=expected, shape=shape, timelines=timelines)
    known = replace(plain, gpu=gpu_telemetry(run.telemetry, cell), intervals=intervals(plain, resampled))
    return _Read(priced(known, prices(run.manifest.study)), resampled, _pages(run, cell, requests, counts))


def _pages(run: Run, cell: Cell, requests: pa.Table, counts: CellCounts) -> Sequence[Page]:
    # whichbits sends token ids; other tools send text, which the server splits again.
    as_text = run.manifest.source == "imported"
    return pages(cell, requests, counts, sent_as_text=as_text) if counts else ()


def _profiles(run: Run, arms: Sequence[str]) -> tuple[Profile, ...]:
    """Return the run's profiled windows in the order of its arms, from the lowest load on."""

    def place(profile: Profile) -> tuple[int, float, int]:
        arm = arms.index(profile.arm) if profile.arm in arms else len(arms)
        return arm, profile.request_rate or 0.0, profile.concurrency or 0

    return tuple(sorted(read_profiles(run.folder), key=place))


def slo_of(run: Run) -> Slo | None:
    """Return the run's SLO, None if it has none. Raises BadInput if what it has is not one."""
    study: dict[str, Any] = run.manifest.study
    try:
        return None if study.get("slo") is None else Slo.model_validate(study["slo"])
    except ValidationError as error:
        raise BadInput(
            "run_broken",
            f"the run's SLO cannot be read: {error.errors()[0]['msg']}",
            why="run.json was edited after it was written",
            fix="give slo bounds in milliseconds under ttft_ms, tpot_ms or e2e_ms, or remove it",
        ) from error
