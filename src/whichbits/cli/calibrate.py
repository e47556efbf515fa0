"""``whichbits calibrate``: fit the predictor to a run that was measured."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console
from rich.table import Table

from whichbits.analyze.curves.load_curves import value_of, why_unusable
from whichbits.analyze.findings.observed import load_of
from whichbits.analyze.summarize import summarize
from whichbits.analyze.summary import CellSummary, Metric, Summary
from whichbits.cli.lang import Lang
from whichbits.errors import BadInput
from whichbits.language.language import Say, language
from whichbits.language.phrase import phrase
from whichbits.predict.calibrate import Calibration, Observation, calibrate
from whichbits.predict.calibration_file import write_calibration
from whichbits.predict.constants import default_constants
from whichbits.predict.deployment.deployment import Deployment
from whichbits.predict.run import question_of
from whichbits.record.run import Run
from whichbits.record.schema import Manifest
from whichbits.report.cells.measures import name_of
from whichbits.study.model import Study
from whichbits.study.read import study_of_record

_FITTED: tuple[Metric, ...] = ("tpot_ms.p50", "ttft_ms.p50", "output_tokens_per_s")


def calibrate_run(
    run: Path,
    *,
    gpu: str | None = None,
    output: Annotated[Path, Parameter(name=["--output", "-o"])] = Path("calibration.json"),
    lang: Lang = "en",
) -> int:
    """Fit the constants that a measured run's arms rest on, and say how well they then predict it.

    Args:
        run: A run folder, as `whichbits run` makes them.
        gpu: The GPU that it ran on, where neither its logs nor its study say so.
        output: Where the fitted constants go; `whichbits predict --calibration` reads them.
        lang: Language of what is printed.
    """
    loaded = Run.load(run)
    observations = list(_observations(loaded.manifest, _study(loaded), summarize(loaded), gpu))
    found = calibrate(observations, default_constants())
    write_calibration(output, found.constants)
    _show(found, output, Console(stderr=True), language(lang).say)
    return 0


def _study(run: Run) -> Study:
    study = study_of_record(run.manifest.study)
    if study is None:
        raise BadInput(
            "run_not_calibratable",
            f"{run.folder} holds no whole study, so what was asked of its arms is not known",
            why="it was imported from another tool, or its run.json was edited",
            fix="calibrate from a run that `whichbits run` made",
        )
    return study


def _observations(manifest: Manifest, study: Study, summary: Summary, gpu: str | None) -> Iterator[Observation]:
    recorded = {cell.cell: cell for cell in manifest.cells}
    for cell in summary.cells:
        if why_unusable(cell) is None:
            deployment = _deployment(study, summary, cell, gpu)
            name = phrase("{arm} at {load}", arm=cell.arm, load=load_of(cell))
            yield Observation(name, deployment, question_of(study, recorded[cell.cell]), _measured(cell))


def _measured(cell: CellSummary) -> dict[str, float]:
    found = {metric: value_of(cell, metric) for metric in _FITTED}
    return {metric: value for metric, value in found.items() if value}


def _deployment(study: Study, summary: Summary, cell: CellSummary, gpu: str | None) -> Deployment:
    """Put the arm where it ran, with the KV cache that its engine reported."""
    told = summary.arms[cell.arm]
    device = gpu or told.facts.get("device_name") or study.gpu
    if not isinstance(device, str):
        raise BadInput(
            "no_gpu_named",
            f"nothing says which GPU {cell.arm} ran on",
            why="its log does not name it, and the study has no `gpu`",
            fix="give --gpu",
        )
    arm = study.arms[cell.arm]
    if told.kv_cache_tokens:
        blocks = told.kv_cache_tokens // (arm.block_size or 16)
        arm = arm.model_copy(update={"options": arm.options | {"num_gpu_blocks_override": blocks}})
    return Deployment.of(arm, device, told.engine_version or study.engine_version)


def _show(found: Calibration, output: Path, console: Console, say: Say) -> None:
    headings = (phrase("cell"), phrase("quantity"), phrase("measured"), phrase("off before"), phrase("off after"))
    table = Table(*map(say, headings), title=say(phrase("Predicted against measured")))
    names: dict[str, str] = {metric: name_of(metric) for metric in _FITTED}
    for each in found.residuals:
        table.add_row(
            say(each.name),
            say(names[each.quantity]),
            f"{each.measured:.4g}",
            f"{each.before - 1:+.0%}",
            f"{each.after - 1:+.0%}",
        )
    console.print(table)
    for name, factor in found.factors.items():
        if abs(factor - 1) >= 0.01:
            console.print(f"  {name} x {factor:.2f}", highlight=False)
    console.print(
        say(
            phrase(
                "Root mean square error {before:.1%} before, {after:.1%} after. Wrote {output}",
                before=found.spread(after=False),
                after=found.spread(after=True),
                output=output,
            )
        ),
        highlight=False,
    )
