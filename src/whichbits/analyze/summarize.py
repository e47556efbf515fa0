"""Turns a run into its summary: every cell in numbers, arms against each other, and what follows."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec
from pydantic import ValidationError

from whichbits.analyze.arms import arm_summary
from whichbits.analyze.books import Difference, differences, pages
from whichbits.analyze.cell_noise import intervals, replicates
from whichbits.analyze.cells import cell_summary
from whichbits.analyze.cost import at_their_cost, priced, prices
from whichbits.analyze.counted import CellCounts, counted
from whichbits.analyze.crossover import crossovers, crossovers_by_capacity
from whichbits.analyze.findings import Observed, findings
from whichbits.analyze.limits import arm_capacity, cell_roofline
from whichbits.analyze.load_curves import load_unit
from whichbits.analyze.pairing import Resampled
from whichbits.analyze.planned_cache import PlannedCache
from whichbits.analyze.predicted_crossover import predicted_crossovers
from whichbits.analyze.recommend import recommendations
from whichbits.analyze.slo import slo_capacities
from whichbits.analyze.summary import ArmSummary, CellSummary, Summary
from whichbits.errors import BadInput
from whichbits.record.run import Run
from whichbits.record.schema import Cell, Manifest
from whichbits.study.model import Slo

SUMMARY_VERSION = 1


def summarize(run: Run) -> Summary:
    """Analyse a run, finished or not.

    Raises:
        BadInput: the run is damaged, or its SLO is not one.
    """
    counts = counted(run.each_scrape())
    described = {arm: arm_summary(run.manifest, record) for arm, record in run.manifest.arms.items()}
    slo = _slo(run.manifest.study)
    resampled = {cell.cell: replicates(cell, run.of_cell(cell.cell), slo) for cell in run.cells}
    cells = _under_rooflines(_cells(run, counts, resampled, slo), described, run.manifest)
    arms = tuple(run.manifest.arms) or tuple(dict.fromkeys(cell.arm for cell in cells))
    predicted = run.manifest.source == "predicted"
    compared = (predicted_crossovers if predicted else crossovers)(cells, arms, resampled)
    capacities = at_their_cost(slo_capacities(cells, arms), cells)
    by_capacity = crossovers_by_capacity(cells, arms, resampled)
    return Summary(
        schema_version=SUMMARY_VERSION,
        source=run.manifest.source,
        study=run.manifest.name,
        run=run.folder.resolve().name,
        interrupted=run.interrupted,
        load_unit=load_unit(cells),
        arms={name: _with_capacity(arm, cells, run.manifest) for name, arm in described.items()},
        cells=cells,
        crossovers=compared,
        findings=findings(Observed(run.manifest, cells, compared, by_capacity, _differences(run, counts), capacities)),
        recommendation=recommendations(cells, arms, compared),
        crossovers_by_capacity=by_capacity,
        slo_capacities=capacities,
    )


def summary_json(summary: Summary) -> bytes:
    """Return summary.json; what is unknown is null."""
    return msgspec.json.format(msgspec.json.encode(summary), indent=2) + b"\n"


def _cells(
    run: Run, counts: Mapping[int, CellCounts], resampled: Resampled, slo: Slo | None
) -> tuple[CellSummary, ...]:
    cache = PlannedCache(run.manifest)
    plain = (_cell(run, cell, counts.get(cell.cell, {}), slo, cache) for cell in run.cells)
    known = (replace(cell, intervals=intervals(cell, resampled[cell.cell])) for cell in plain)
    return tuple(priced(cell, prices(run.manifest.study)) for cell in known)


def _cell(run: Run, cell: Cell, counts: CellCounts, slo: Slo | None, cache: PlannedCache) -> CellSummary:
    requests = run.of_cell(cell.cell)
    return cell_summary(cell, requests, counts, slo, cache.expected(cell, requests, counts))


def _differences(run: Run, counts: Mapping[int, CellCounts]) -> dict[int, list[Difference]]:
    # whichbits sends token ids; other tools send text, which the server splits again.
    as_text = run.manifest.source == "imported"
    return differences(
        page
        for cell in run.cells
        if cell.cell in counts
        for page in pages(cell, run.of_cell(cell.cell), counts[cell.cell], sent_as_text=as_text)
    )


def _under_rooflines(
    cells: tuple[CellSummary, ...], arms: Mapping[str, ArmSummary], manifest: Manifest
) -> tuple[CellSummary, ...]:
    return tuple(
        replace(cell, roofline=cell_roofline(cell, arms[cell.arm], manifest)) if cell.arm in arms else cell
        for cell in cells
    )


def _with_capacity(arm: ArmSummary, cells: tuple[CellSummary, ...], manifest: Manifest) -> ArmSummary:
    return replace(arm, capacity=arm_capacity(arm, [cell for cell in cells if cell.arm == arm.arm], manifest))


def _slo(study: dict[str, Any]) -> Slo | None:
    try:
        return None if study.get("slo") is None else Slo.model_validate(study["slo"])
    except ValidationError as error:
        raise BadInput(
            "run_broken",
            f"the run's SLO cannot be read: {error.errors()[0]['msg']}",
            why="run.json was edited after it was written",
            fix="give slo bounds in milliseconds under ttft_ms, tpot_ms or e2e_ms, or remove it",
        ) from error
