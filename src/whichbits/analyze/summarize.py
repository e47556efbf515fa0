"""Turns a run into its summary: every cell in numbers, arms against each other, and what follows."""

from dataclasses import replace
from typing import Any

import msgspec
from pydantic import ValidationError

from whichbits.analyze.arms import arm_summary
from whichbits.analyze.books import Growth, Imbalance, growth, imbalances
from whichbits.analyze.cell_noise import intervals, replicates
from whichbits.analyze.cells import cell_summary
from whichbits.analyze.crossover import crossovers, crossovers_by_capacity
from whichbits.analyze.findings import Observed, findings
from whichbits.analyze.load_curves import load_unit
from whichbits.analyze.pairing import Resampled
from whichbits.analyze.recommend import recommendations
from whichbits.analyze.slo import slo_capacities
from whichbits.analyze.summary import CellSummary, Summary
from whichbits.errors import BadInput
from whichbits.record.run import Run
from whichbits.study.model import Slo

SUMMARY_VERSION = 1


def summarize(run: Run) -> Summary:
    """Analyse a run, finished or not.

    Raises:
        BadInput: the run is damaged, or its SLO is not one.
    """
    counted = growth(run.scrapes())
    slo = _slo(run.manifest.study)
    resampled = {cell.cell: replicates(cell, run.of_cell(cell.cell), slo) for cell in run.cells}
    cells = _cells(run, counted, resampled, slo)
    arms = tuple(run.manifest.arms) or tuple(dict.fromkeys(cell.arm for cell in cells))
    compared, by_capacity = crossovers(cells, arms, resampled), crossovers_by_capacity(cells, arms, resampled)
    return Summary(
        schema_version=SUMMARY_VERSION,
        source=run.manifest.source,
        study=run.manifest.name,
        run=run.folder.resolve().name,
        interrupted=run.interrupted,
        load_unit=load_unit(cells),
        arms={arm: arm_summary(run.manifest, record) for arm, record in run.manifest.arms.items()},
        cells=cells,
        crossovers=compared,
        findings=findings(Observed(run.manifest, cells, compared, by_capacity, _imbalances(run, counted))),
        recommendation=recommendations(cells, arms, compared),
        crossovers_by_capacity=by_capacity,
        slo_capacities=slo_capacities(cells, arms),
    )


def summary_json(summary: Summary) -> bytes:
    """Return summary.json; what is unknown is null."""
    return msgspec.json.format(msgspec.json.encode(summary), indent=2) + b"\n"


def _cells(run: Run, counted: Growth, resampled: Resampled, slo: Slo | None) -> tuple[CellSummary, ...]:
    plain = (
        cell_summary(cell, run.of_cell(cell.cell), list(counted.get(cell.cell, {}).values()), slo) for cell in run.cells
    )
    return tuple(replace(cell, intervals=intervals(cell, resampled[cell.cell])) for cell in plain)


def _imbalances(run: Run, counted: Growth) -> dict[int, list[Imbalance]]:
    return {cell: imbalances(run.of_cell(cell), engines) for cell, engines in counted.items()}


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
