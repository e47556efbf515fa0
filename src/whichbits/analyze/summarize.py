"""Turns a run into its summary: every cell in numbers, arms against each other, and what follows."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec
from pydantic import ValidationError

from whichbits.analyze.arms import arm_summary
from whichbits.analyze.books import Growth, Imbalance, growth, imbalances
from whichbits.analyze.cells import cell_summary
from whichbits.analyze.crossover import crossovers
from whichbits.analyze.findings import Observed, findings
from whichbits.analyze.limits import arm_capacity, cell_roofline
from whichbits.analyze.load_curves import load_unit
from whichbits.analyze.recommend import recommendations
from whichbits.analyze.summary import ArmSummary, CellSummary, Summary
from whichbits.errors import BadInput
from whichbits.record.run import Run
from whichbits.record.schema import Manifest
from whichbits.study.model import Slo

SUMMARY_VERSION = 1


def summarize(run: Run) -> Summary:
    """Analyse a run, finished or not.

    Raises:
        BadInput: the run is damaged, or its SLO is not one.
    """
    counted = growth(run.scrapes())
    described = {arm: arm_summary(run.manifest, record) for arm, record in run.manifest.arms.items()}
    cells = _under_rooflines(_cells(run, counted), described, run.manifest)
    arms = tuple(run.manifest.arms) or tuple(dict.fromkeys(cell.arm for cell in cells))
    compared = crossovers(cells, arms)
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
        findings=findings(Observed(run.manifest, cells, compared, _imbalances(run, counted))),
        recommendation=recommendations(cells, arms),
    )


def summary_json(summary: Summary) -> bytes:
    """Return summary.json; what is unknown is null."""
    return msgspec.json.format(msgspec.json.encode(summary), indent=2) + b"\n"


def _cells(run: Run, counted: Growth) -> tuple[CellSummary, ...]:
    slo = _slo(run.manifest.study)
    return tuple(
        cell_summary(cell, run.of_cell(cell.cell), list(counted.get(cell.cell, {}).values()), slo) for cell in run.cells
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
