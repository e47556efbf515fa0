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


def asked_loads(cells: Iterable[CellSummary], arms: Sequence[str], unit: AxisUnit) -> tuple[float, ...]:
    """Return the loads that every one of the arms was asked, in rising order, whatever became of them."""
    places = [_placed(cells, arm, unit) for arm in arms]
    return tuple(sorted(set.intersection(*({load for load, _ in each} for each in places)))) if places else ()


def left_out(
    cells: Iterable[CellSummary], arms: Sequence[str], metric: Metric, unit: AxisUnit, compared: Iterable[float]
) -> tuple[LeftOut, ...]:
    """Return the loads, whole or some of their repeats, that all arms met but that a comparison of them lacks.

    A repeat is compared where each arm has a usable cell of it. ``compared`` are the loads that entered.
    """
    cells, entered = tuple(cells), set(compared)
    by_arm = [_placed(cells, arm, unit) for arm in arms]
    places = sorted(set.intersection(*(set(each) for each in by_arm))) if by_arm else []
    lost = [place for place in places if place[0] not in entered or _reasons(by_arm, place, metric)]
    return tuple(_at(load, by_arm, places, lost, metric) for load in dict.fromkeys(load for load, _ in lost))


def why_left_out(cell: CellSummary) -> str | None:
    """Say in words of a reader why a cell is not used; None if it is."""
    if cell.state != "done":
        return _STATES.get(cell.state, cell.state)
    if cell.client_verdict == "client_limited":
        return phrase("the client was the limit")
    return why_unusable(cell)


def _at(
    load: float,
    by_arm: Sequence[dict[_Place, CellSummary]],
    places: Sequence[_Place],
    lost: Sequence[_Place],
    metric: Metric,
) -> LeftOut:
    here, missing = ([place for place in some if place[0] == load] for some in (places, lost))
    why = dict.fromkeys(reason for place in missing for reason in _reasons(by_arm, place, metric))
    none_good = all(has_no_goodput(cells[place], metric) for cells in by_arm for place in here)
    nothing = phrase("no request held the SLO") if none_good else phrase("nothing to compare")
    return LeftOut(load, joined(", ", why or (nothing,)), len(missing), len(here))


def _reasons(by_arm: Sequence[dict[_Place, CellSummary]], place: _Place, metric: Metric) -> list[str]:
    reasons = (_why_not(cells[place], metric) for cells in by_arm)
    return [reason for reason in reasons if reason is not None]


def _why_not(cell: CellSummary, metric: Metric) -> str | None:
    if comparable(cell, metric) is not None:
        return None
    if (unusable := why_left_out(cell)) is not None:
        return unusable
    thin = metric.endswith(TAILS) and is_thin(cell, metric)
    return phrase("few samples beyond the percentile") if thin else phrase("no value")


def _placed(cells: Iterable[CellSummary], arm: str, unit: AxisUnit) -> dict[_Place, CellSummary]:
    return {
        (load, cell.repeat): cell for cell in cells if cell.arm == arm and (load := load_of(cell, unit)) is not None
    }
