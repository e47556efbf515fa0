"""Turns a run into its summary: every cell in numbers, then what follows from them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec
from pydantic import ValidationError

from whichbits.analyze.arms import arm_summary
from whichbits.analyze.cache.planned import PlannedCache
from whichbits.analyze.cells.cell import cell_summary
from whichbits.analyze.cells.noise import intervals, replicates
from whichbits.analyze.conclude import Inputs, conclude
from whichbits.analyze.crossings.pairing import Resampled
from whichbits.analyze.curves.cost import priced, prices
from whichbits.analyze.engine.books import Difference, differences, pages
from whichbits.analyze.engine.counted import CellCounts, counted
from whichbits.analyze.engine.telemetry import gpu_telemetry
from whichbits.analyze.kernels.profile import Profile, read_profiles
from whichbits.analyze.load.shape import load_shape
from whichbits.analyze.quality.judge import read_quality
from whichbits.analyze.summary import CellSummary, Summary
from whichbits.errors import BadInput
from whichbits.record.run import Run
from whichbits.record.schema import Cell
from whichbits.study.model import Slo


def resample(run: Run) -> Resampled:
    """Resample every cell of a run: the costly part of a summary, and all that a comparison needs beside it.

    Raises:
        BadInput: the run's SLO is not one.
    """
    slo = slo_of(run)
    return {cell.cell: replicates(cell, run.of_cell(cell.cell), slo) for cell in run.cells}


def summarize(run: Run, resampled: Resampled | None = None) -> Summary:
    """Analyse a run, finished or not; ``resampled`` saves the work where it was done already.

    Raises:
        BadInput: the run is damaged, or its SLO or a prediction is not one.
    """
    resampled = resample(run) if resampled is None else resampled
    counts = counted(run.each_scrape())
    described = {arm: arm_summary(run.manifest, record) for arm, record in run.manifest.arms.items()}
    return conclude(
        Inputs(
            manifest=run.manifest,
            run=run.folder.resolve().name,
            arms=described,
            cells=_cells(run, counts, resampled, slo_of(run)),
            resampled=resampled,
            differences=_differences(run, counts),
            profiles=_profiles(run, tuple(described)),
            interrupted=run.interrupted,
            quality=read_quality(run.folder, run.manifest),
        )
    )


def summary_json(summary: Summary) -> bytes:
    """Return summary.json; what is unknown is null."""
    return msgspec.json.format(msgspec.json.encode(summary, enc_hook=str), indent=2) + b"\n"


def _cells(
    run: Run, counts: Mapping[int, CellCounts], resampled: Resampled, slo: Slo | None
) -> tuple[CellSummary, ...]:
    cache = PlannedCache(run.manifest)
    plain = (_cell(run, cell, counts.get(cell.cell, {}), slo, cache) for cell in run.cells)
    known = (replace(cell, intervals=intervals(cell, resampled[cell.cell])) for cell in plain)
    return tuple(priced(cell, prices(run.manifest.study)) for cell in known)


def _cell(run: Run, cell: Cell, counts: CellCounts, slo: Slo | None, cache: PlannedCache) -> CellSummary:
    requests = run.of_cell(cell.cell)
    shape = load_shape(cell, run.manifest.study)
    expected = cache.expected(cell, requests, counts)
    summary = cell_summary(cell, requests, counts, slo, expected=expected, shape=shape)
    return replace(summary, gpu=gpu_telemetry(run.telemetry, cell))


def _differences(run: Run, counts: Mapping[int, CellCounts]) -> dict[int, list[Difference]]:
    # whichbits sends token ids; other tools send text, which the server splits again.
    as_text = run.manifest.source == "imported"
    return differences(
        page
        for cell in run.cells
        if cell.cell in counts
        for page in pages(cell, run.of_cell(cell.cell), counts[cell.cell], sent_as_text=as_text)
    )


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
