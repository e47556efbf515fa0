"""Which loads were asked of arms and are in no comparison, and why."""

from collections.abc import Iterable, Sequence

from whichbits.analyze.curves.load_curves import (
    TAILS,
    AxisUnit,
    comparable,
    has_no_goodput,
    is_thin,
    load_of,
    why_unusable,
)
from whichbits.analyze.summary import CellSummary, LeftOut, Metric
from whichbits.language.phrase import joined, phrase

_STATES = {"interrupted": phrase("cut short"), "planned": phrase("not run"), "skipped": phrase("skipped")}
_Place = tuple[float, int]
_Cells = dict[_Place, CellSummary]


def asked_loads(cells: Iterable[CellSummary], arms: Sequence[str], unit: AxisUnit) -> tuple[float, ...]:
    """Return the loads that every one of the arms was asked, in rising order, whatever became of them."""
    places = [_placed(cells, arm, unit) for arm in arms]
    return tuple(sorted(set.intersection(*({load for load, _ in each} for each in places)))) if places else ()


def left_out(
    cells: Sequence[CellSummary], arms: Sequence[str], metric: Metric, unit: AxisUnit, compared: Iterable[float]
) -> tuple[LeftOut, ...]:
    """Return the loads, whole or some of their repeats, that all arms met but that a comparison of them lacks.

    ``compared`` are the loads that entered; there a repeat counts as left out if an arm that met it has no usable cell
    of it. Of a load that did not enter, only repeats that all arms met could have been compared.
    """
    entered = set(compared)
    by_arm = [_placed(cells, arm, unit) for arm in arms]
    found = (_at(load, by_arm, metric, entered=load in entered) for load in asked_loads(cells, arms, unit))
    return tuple(each for each in found if each is not None)


def why_left_out(cell: CellSummary) -> str | None:
    """Say in words of a reader why a cell is not used; None if it is."""
    if cell.state != "done":
        return _STATES.get(cell.state, cell.state)
    if cell.client_verdict == "client_limited":
        return phrase("the client was the limit")
    return why_unusable(cell)


def _at(load: float, by_arm: Sequence[_Cells], metric: Metric, *, entered: bool) -> LeftOut | None:
    met = [{place for place in cells if place[0] == load} for cells in by_arm]
    here = sorted(set.union(*met) if entered else set.intersection(*met))
    lost = [place for place in here if _reasons(by_arm, place, metric)] if entered else here
    if entered and not lost:
        return None
    why = dict.fromkeys(reason for place in lost for reason in _reasons(by_arm, place, metric))
    return LeftOut(load, joined(", ", why or (_nothing(by_arm, here, metric),)), len(lost), len(here))


def _nothing(by_arm: Sequence[_Cells], here: Sequence[_Place], metric: Metric) -> str:
    """Say why usable cells leave nothing to compare."""
    if not here:
        return phrase("no repeat that all arms met")
    none_good = all(has_no_goodput(cells[place], metric) for cells in by_arm for place in here)
    return phrase("no request held the SLO") if none_good else phrase("nothing to compare")


def _reasons(by_arm: Sequence[_Cells], place: _Place, metric: Metric) -> list[str]:
    reasons = (_why_not(cells[place], metric) for cells in by_arm if place in cells)
    return [reason for reason in reasons if reason is not None]


def _why_not(cell: CellSummary, metric: Metric) -> str | None:
    if comparable(cell, metric) is not None:
        return None
    if (unusable := why_left_out(cell)) is not None:
        return unusable
    thin = metric.endswith(TAILS) and is_thin(cell, metric)
    return phrase("few samples beyond the percentile") if thin else phrase("no value")


def _placed(cells: Iterable[CellSummary], arm: str, unit: AxisUnit) -> _Cells:
    return {
        (load, cell.repeat): cell for cell in cells if cell.arm == arm and (load := load_of(cell, unit)) is not None
    }
