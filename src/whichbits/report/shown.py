"""What of a very large run is shown: the foremost arms with all that is known of them, and every arm in a line."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from whichbits.analyze.crossings.foremost import MOST_ARMS, foremost
from whichbits.analyze.latency.request_timelines import CellRequests
from whichbits.analyze.quality.measures import Quality
from whichbits.analyze.summary import Summary
from whichbits.language.phrase import phrase
from whichbits.record.schema import Manifest


@dataclass(frozen=True)
class Shown:
    """A run as charts and tables show it; ``summary`` and ``manifest`` have the shown arms only.

    ``rule`` says which arms these are and where the others stand; None where all are shown.
    """

    summary: Summary
    manifest: Manifest
    requests: Sequence[CellRequests] = ()
    rule: str | None = None


def shown(summary: Summary, manifest: Manifest, requests: Sequence[CellRequests] = ()) -> Shown:
    """Return what to show; the run itself where it has no more than ``MOST_ARMS`` arms."""
    if len(summary.arms) <= MOST_ARMS:
        return Shown(summary, manifest, requests)
    arms = shown_arms(summary)
    return Shown(
        summary=_of(arms, summary),
        manifest=replace(
            manifest,
            arms={name: record for name, record in manifest.arms.items() if name in arms},
            cells=tuple(cell for cell in manifest.cells if cell.arm in arms),
        ),
        requests=tuple(each for each in requests if each.cell.arm in arms),
        rule=phrase(
            "{all} arms are too many to draw. Charts and tables show {count} of them: those that the answer names, "
            "that lead at most loads, or that come nearest to a lead. The answer and the findings are about all.",
            all=len(summary.arms),
            count=len(arms),
        ),
    )


def shown_arms(summary: Summary) -> tuple[str, ...]:
    """Return the arms to show, at most ``MOST_ARMS``, in the study's order: those that the answer names come first."""
    if len(summary.arms) <= MOST_ARMS:
        return tuple(summary.arms)
    reference = None if summary.quality is None else summary.quality.reference
    wanted = dict.fromkeys((*_named(summary), *foremost(summary.cells, summary.arms, reference)))
    chosen = [arm for arm in wanted if arm in summary.arms][:MOST_ARMS]
    return tuple(arm for arm in summary.arms if arm in chosen)


def _named(summary: Summary) -> Iterator[str]:
    regimes = () if summary.answer is None else summary.answer.regimes
    yield from (regime.arm for regime in regimes if regime.arm is not None)
    yield from (arm for entry in summary.recommendation for arm, _, _ in entry.ranges)


def _of(arms: Sequence[str], summary: Summary) -> Summary:
    return replace(
        summary,
        arms={name: arm for name, arm in summary.arms.items() if name in arms},
        cells=tuple(cell for cell in summary.cells if cell.arm in arms),
        crossovers=tuple(each for each in summary.crossovers if set(each.arms) <= set(arms)),
        crossovers_by_capacity=tuple(each for each in summary.crossovers_by_capacity if set(each.arms) <= set(arms)),
        slo_capacities=tuple(each for each in summary.slo_capacities if each.arm in arms),
        profiles=tuple(each for each in summary.profiles if each.arm in arms),
        quality=summary.quality and _quality_of(arms, summary.quality),
    )


def _quality_of(arms: Sequence[str], quality: Quality) -> Quality:
    return replace(
        quality,
        arms=tuple(each for each in quality.arms if each.arm in arms),
        trade_offs=tuple(each for each in quality.trade_offs if each.arm in arms),
    )
