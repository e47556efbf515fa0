"""Keys of a study that change nothing beside the others, though whoever wrote them thinks that they do."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from whichbits.study.arm import Arm
from whichbits.study.arrivals import StagesArrivals
from whichbits.study.drawn_traffic import SessionsTraffic
from whichbits.study.model import Study
from whichbits.study.recorded_traffic import RunTraffic, ShareGptTraffic

Path = tuple[str, ...]


@dataclass(frozen=True)
class IdleKey:
    """A key that was given and changes nothing, by the way to it in the file, and why."""

    key: Path
    reason: str


@dataclass(frozen=True)
class _Rule:
    keys: str
    idle: Callable[[Study], bool]
    reason: str


def idle_keys(study: Study) -> Iterator[IdleKey]:
    """Yield each key that differs from its default and that nothing asks for; the first reason of a key is enough."""
    said: set[Path] = set()
    for rule in _RULES:
        if not rule.idle(study):
            continue
        for key in (tuple(written.split(".")) for written in rule.keys.split()):
            if key not in said and _differs(study, key):
                said.add(key)
                yield IdleKey(key, rule.reason)
    yield from _idle_in_arms(study)


def _differs(study: Study, key: Path) -> bool:
    """Whether a value is there and is not the default; a default that is written out misleads nobody."""
    model: Any = study
    for name in key[:-1]:
        model = getattr(model, name)
    if not isinstance(model, BaseModel) or key[-1] not in type(model).model_fields:
        return False
    field = type(model).model_fields[key[-1]]
    return bool(getattr(model, key[-1]) != field.get_default(call_default_factory=True))


def _closed(study: Study) -> bool:
    return all(load.request_rate is None for load in study.fixed_loads)


def _open(study: Study) -> bool:
    return bool(study.fixed_loads) and all(load.request_rate is not None for load in study.fixed_loads)


def _thinks(study: Study) -> bool:
    traffic = study.traffic
    return isinstance(traffic, SessionsTraffic) or (isinstance(traffic, ShareGptTraffic) and traffic.turns == "all")


def _paces_nothing(study: Study) -> bool:
    """No cell has a rate, and no day is planned: `whichbits plan` gives a day's requests the arrivals' pattern."""
    return _closed(study) and (study.plan is None or study.plan.trace is not None)


def _alone_and_once(study: Study) -> bool:
    """One arm whose server is started once anyway; with repeats or a search, together means one start for all."""
    return len(study.arms) == 1 and study.repeats == 1 and not study.searches


def _is_replay(study: Study) -> bool:
    return isinstance(study.traffic, RunTraffic)


_COUNTS = "cell.per_stream cell.at_least cell.at_most cell.seconds"
_NO_RATE = "no load has a request_rate, so requests go out as streams are free"

_RULES = (
    _Rule("arrivals", _is_replay, "traffic of a run keeps the times of that run"),
    _Rule("arrivals", _paces_nothing, f"{_NO_RATE}; write loads as {{request_rate: 2.5}}, or leave arrivals out"),
    _Rule(_COUNTS, lambda study: study.cell.requests is not None, "cell.requests says how many"),
    _Rule(_COUNTS, _is_replay, "traffic of a run sends as many as that run did, unless cell.requests says how many"),
    _Rule("cell.seconds", _closed, f"{_NO_RATE}; cell.per_stream says how many"),
    _Rule("cell.per_stream", _open, "every load has a request_rate; cell.seconds says how many"),
    _Rule(
        _COUNTS,
        lambda study: _open(study) and isinstance(study.arrivals, StagesArrivals),
        "arrivals in stages send what their stages come to",
    ),
    _Rule(
        "budget precision search_metrics",
        lambda study: not study.searches,
        "nothing is searched: it goes with `loads: auto` or `repeats: auto`",
    ),
    _Rule(
        "arms_together",
        _alone_and_once,
        "one arm has no other beside it, and its server is started once; leave arms_together out",
    ),
    _Rule(
        "traffic.think_seconds traffic.think traffic.think_sigma",
        lambda study: not _thinks(study),
        "first questions have no turn before them; set `turns: all`",
    ),
    _Rule(
        "traffic.think traffic.think_sigma",
        lambda study: getattr(study.traffic, "think_seconds", None) == 0,
        "with think_seconds: 0 nobody thinks",
    ),
    _Rule(
        "traffic.think_sigma",
        lambda study: getattr(study.traffic, "think", None) != "log_normal",
        "only `think: log_normal` has a sigma",
    ),
    _Rule(
        "quality.task_questions",
        lambda study: study.quality is not None and not study.quality.tasks,
        "quality.tasks names no task",
    ),
    _Rule(
        "plan.day.trough plan.day.peak_hour",
        lambda study: study.plan is not None and study.plan.day.peak is None,
        "it shapes the curve around plan.day.peak, and none is given",
    ),
)


def _idle_in_arms(study: Study) -> Iterator[IdleKey]:
    """Yield what no arm of the study can use: as a default for all, a key may well not apply to some."""
    arms = study.arms
    if not any(_has_replicas(arm) for arm in arms.values()):
        yield from _in_arms(arms, "balance", "round_robin", "no arm has more than one replica to choose from")
    if all(arm.target is None and arm.engine == "mock" for arm in arms.values()):
        yield from _in_arms(arms, "python", None, "the mock runs in whichbits' own interpreter")


def _has_replicas(arm: Arm) -> bool:
    target = arm.target
    return arm.replicas > 1 or (target is not None and (len(target.urls) > 1 or target.kubernetes is not None))


def _in_arms(arms: dict[str, Arm], key: str, default: str | None, reason: str) -> Iterator[IdleKey]:
    for name, arm in arms.items():
        if getattr(arm, key) != default:
            yield IdleKey(("arms", name, key), reason)
