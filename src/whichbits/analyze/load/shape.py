"""How a cell's requests were to come, as far as it decides whether there can be a steady state."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from whichbits.record.schema import Cell

_AT_ONE_RATE = ("constant", "poisson", "gamma")
_WITH_LATER_TURNS = ("sessions",)
_OF_ANOTHER_RUN = "run"


@dataclass(frozen=True)
class LoadShape:
    """A closed loop unless ``open_loop``.

    ``moving`` names arrivals whose rate changes by design. ``one_rate`` is True where arrivals are drawn at a single
    rate, so that only chance makes them vary. ``turns``: later turns of sessions come when an answer has come.
    """

    open_loop: bool
    moving: Literal["ramp", "stages"] | None = None
    one_rate: bool = False
    turns: bool = False


CLOSED = LoadShape(open_loop=False)


def load_shape(cell: Cell, study: Mapping[str, Any]) -> LoadShape:
    """Read a cell's shape off the run's study; imported runs have none, and then arrivals have no known pattern."""
    traffic = _kind(study.get("traffic"))
    turns = traffic in _WITH_LATER_TURNS
    if cell.request_rate is None:
        return LoadShape(open_loop=False, turns=turns)
    kind = None if traffic == _OF_ANOTHER_RUN else _kind(study.get("arrivals"))
    moving: Literal["ramp", "stages"] | None = None
    if kind == "ramp":
        moving = "ramp" if _differ(study["arrivals"].get(name) for name in ("start", "end")) else None
    elif kind == "stages":
        moving = "stages" if _differ(stage.get("share") for stage in study["arrivals"].get("stages", ())) else None
    one_rate = kind in (*_AT_ONE_RATE, "ramp", "stages") and moving is None
    return LoadShape(open_loop=True, moving=moving, one_rate=one_rate, turns=turns)


def _kind(told: Any) -> str | None:
    """Return the kind of traffic or arrivals: studies may have been recorded with the word alone."""
    if isinstance(told, Mapping):
        told = told.get("kind")
    return told if isinstance(told, str) else None


def _differ(values: Any) -> bool:
    return len(set(values)) > 1
