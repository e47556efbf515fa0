"""From cells and arms to what follows: rooflines, crossings, findings, predictions and the answer.

Nothing here looks at requests, so that another tool's table of results is concluded from as a run is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from whichbits.analyze.answer.predictions import Measured, scored_predictions
from whichbits.analyze.answer.ranking import Compared
from whichbits.analyze.answer.recommend import recommendations
from whichbits.analyze.answer.regimes import answer
from whichbits.analyze.answer.tradeoff import Candidates, with_trade_offs
from whichbits.analyze.cells.limits import arm_capacity, cell_roofline
from whichbits.analyze.crossings.crossover import crossovers, crossovers_by_capacity, judge
from whichbits.analyze.crossings.foremost import foremost
from whichbits.analyze.crossings.pairing import Resampled
from whichbits.analyze.crossings.pairs import Pairs
from whichbits.analyze.crossings.predicted import judge_predicted, predicted_crossovers
from whichbits.analyze.curves.cost import at_their_cost
from whichbits.analyze.curves.load_curves import load_unit
from whichbits.analyze.curves.slo import slo_capacities
from whichbits.analyze.engine.books import Difference
from whichbits.analyze.findings import Observed, findings
from whichbits.analyze.kernels.profile import Profile
from whichbits.analyze.quality.measures import Quality
from whichbits.analyze.summary import ArmSummary, CellSummary, SloCapacity, Summary
from whichbits.record.schema import Manifest

SUMMARY_VERSION = 1


@dataclass(frozen=True)
class Inputs:
    """All that conclusions are drawn from; ``differences`` are the books' by cell."""

    manifest: Manifest
    run: str
    arms: Mapping[str, ArmSummary]
    cells: Sequence[CellSummary]
    resampled: Resampled = field(default_factory=dict)
    differences: Mapping[int, Sequence[Difference]] = field(default_factory=dict)
    profiles: tuple[Profile, ...] = ()
    interrupted: bool = False
    quality: Quality | None = None


def conclude(inputs: Inputs) -> Summary:
    """Return the whole summary.

    Raises:
        BadInput: the run's predictions cannot be read.
    """
    cells = _under_rooflines(inputs)
    known = {name: _with_capacity(arm, cells, inputs.manifest) for name, arm in inputs.arms.items()}
    names = tuple(inputs.manifest.arms) or tuple(dict.fromkeys(cell.arm for cell in cells))
    drawn = foremost(cells, names, None if inputs.quality is None else inputs.quality.reference)
    compared = _compared(inputs, cells, names, drawn)
    by_capacity = crossovers_by_capacity(cells, drawn, inputs.resampled)
    held = at_their_cost(slo_capacities(cells, names), cells)
    judged = inputs.quality and with_trade_offs(inputs.quality, Candidates(known, compared, load_unit(cells)))
    seen = Observed(
        inputs.manifest, cells, compared, by_capacity, inputs.differences, known, inputs.profiles, held, judged
    )
    found = findings(seen)
    broken = frozenset() if judged is None else judged.broken
    sound = {name: arm for name, arm in known.items() if name not in broken}
    scored = scored_predictions(inputs.manifest.study, Measured(cells, compared))
    served = recommendations(cells, [name for name in names if name not in broken], compared)
    told = answer(Compared(inputs.manifest, sound, cells, compared, found, _of(sound, held)))
    return Summary(
        schema_version=SUMMARY_VERSION,
        source=inputs.manifest.source,
        study=inputs.manifest.name,
        run=inputs.run,
        interrupted=inputs.interrupted,
        load_unit=load_unit(cells),
        arms=known,
        cells=cells,
        crossovers=compared.all(),
        findings=found,
        predictions=scored,
        recommendation=served,
        crossovers_by_capacity=by_capacity,
        slo_capacities=held,
        profiles=inputs.profiles,
        answer=told,
        quality=judged,
    )


def _compared(inputs: Inputs, cells: Sequence[CellSummary], arms: Sequence[str], drawn: Sequence[str]) -> Pairs:
    """Compare every pair of the arms that are drawn, and of very many others those that a question needs."""
    predicted, resampled = inputs.manifest.source == "predicted", inputs.resampled
    made = (predicted_crossovers if predicted else crossovers)(cells, drawn, resampled)
    if len(drawn) == len(arms):
        return Pairs(made)
    return Pairs(made, arms, (judge_predicted if predicted else judge)(cells, resampled))


def _of(arms: Mapping[str, ArmSummary], held: tuple[SloCapacity, ...]) -> tuple[SloCapacity, ...]:
    return tuple(each for each in held if each.arm in arms or not arms)


def _under_rooflines(inputs: Inputs) -> tuple[CellSummary, ...]:
    return tuple(
        replace(cell, roofline=cell_roofline(cell, inputs.arms[cell.arm], inputs.manifest))
        if cell.arm in inputs.arms
        else cell
        for cell in inputs.cells
    )


def _with_capacity(arm: ArmSummary, cells: Sequence[CellSummary], manifest: Manifest) -> ArmSummary:
    return replace(arm, capacity=arm_capacity(arm, [cell for cell in cells if cell.arm == arm.arm], manifest))
