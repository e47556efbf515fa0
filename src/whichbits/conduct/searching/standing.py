"""What is known of each open question, in words, and what a step of a search changed of it."""

from collections.abc import Mapping
from itertools import combinations

import numpy as np

from whichbits.analyze.crossings.bands import Bands
from whichbits.analyze.crossings.decision import decide
from whichbits.analyze.curves.load_curves import MARGIN, load_words
from whichbits.analyze.curves.slo import slo_bracket
from whichbits.conduct.searching.choice import Situation, question

Range = tuple[float, float]
Known = str | tuple[Range, ...]
"""What is known of a question: ranges of load in which the answer lies, or a word."""

NOTHING = "not known"


def standing(situation: Situation) -> dict[str, Known]:
    """Return what is known of each question."""
    found: dict[str, Known] = {}
    for pair in combinations(situation.arms, 2):
        for metric in situation.wanted.metrics:
            found[f"the crossing of {question(pair, metric)}"] = _crossings(situation.compared(pair, metric))
    for arm in situation.arms:
        if situation.wanted.slo:
            bracket = slo_bracket(situation.cells, arm, situation.unit)
            found[f"the highest load of {arm} that holds the SLO"] = _between(bracket)
        if arm in situation.saturated:
            found[f"saturation of {arm}"] = f"more load buys waiting only from {situation.saturated[arm]} on"
    return found


def bought(before: Mapping[str, Known], after: Mapping[str, Known]) -> str:
    """Return what a step changed, in words."""
    changes = [
        _change(name, before.get(name, NOTHING), now)
        for name, now in after.items()
        if _words(before.get(name, NOTHING)) != _words(now)
    ]
    return "; ".join(changes) or "nothing new"


def _change(name: str, before: Known, now: Known) -> str:
    if isinstance(now, str):
        return f"{name}: {now}"
    if isinstance(before, str):
        return _placed(name, now)
    return _narrowed(name, before, now) if _is_narrower(before, now) else _moved(name, before, now)


def _is_narrower(before: tuple[Range, ...], now: tuple[Range, ...]) -> bool:
    return len(now) == len(before) and _widest(now) < _widest(before)


# Single ranges are written out, here and below: only so are such texts known again when they are told.
def _narrowed(name: str, before: tuple[Range, ...], now: tuple[Range, ...]) -> str:
    if len(now) > 1:
        return f"narrowed {name} from {_words(before)} to {_words(now)}"
    (was_low, was_high), (low, high) = map(_load_words, (before[0], now[0]))
    return f"narrowed {name} from {was_low} to {was_high} to {low} to {high}"


def _moved(name: str, before: tuple[Range, ...], now: tuple[Range, ...]) -> str:
    if len(before) > 1 or len(now) > 1:
        return f"moved {name} from {_words(before)} to {_words(now)}"
    (was_low, was_high), (low, high) = map(_load_words, (before[0], now[0]))
    return f"moved {name} from {was_low} to {was_high} to {low} to {high}"


def _placed(name: str, now: tuple[Range, ...]) -> str:
    if len(now) > 1:
        return f"placed {name} within {_words(now)}"
    low, high = _load_words(now[0])
    return f"placed {name} within {low} to {high}"


def _load_words(between: Range) -> tuple[str, str]:
    return load_words(between[0]), load_words(between[1])


def _widest(ranges: tuple[Range, ...]) -> float:
    return max(high / low for low, high in ranges)


def _words(known: Known) -> str:
    if isinstance(known, str):
        return known
    return " and ".join(f"{load_words(low)} to {load_words(high)}" for low, high in known)


def _crossings(known: Bands | None) -> Known:
    if known is None:
        return NOTHING
    decision = decide(known, MARGIN)
    if decision.zeros:
        return tuple((float(np.exp(zero.low)), float(np.exp(zero.high))) for zero in decision.zeros)
    if decision.verdict == "none":
        return "none, one arm leads at every load met"
    return "none, a tie at every load met" if decision.verdict == "tie" else "too noisy to say"


def _between(bracket: tuple[float | None, float | None]) -> Known:
    holds, breaks = bracket
    if holds is not None and breaks is not None:
        return ((holds, breaks),)
    if holds is not None:
        return f"at least {load_words(holds)}"
    return NOTHING if breaks is None else f"below {load_words(breaks)}"
