"""``repeats: auto``: the whole sweep again and again, until more of it would not narrow the answer enough."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from whichbits.analyze.crossings.bands import Bands
from whichbits.analyze.crossings.decision import decide
from whichbits.analyze.curves.load_curves import MARGIN
from whichbits.conduct.order import Visit, cells_of_repeat
from whichbits.conduct.searching.choice import ANSWERED, BUDGET_SPENT, Situation
from whichbits.conduct.searching.search import LEAST
from whichbits.conduct.searching.sitting import Sitting
from whichbits.record.schema import Cell

AS_LOADS_ALLOW = "more repeats of these loads would not narrow it"
_FURTHER = 10


@dataclass
class RepeatSearch:
    """A repeat of all loads is a step."""

    sitting: Sitting

    def visits(self) -> Iterator[Visit]:
        """Yield visits until the answer is narrow enough, more repeats do not help, or the budget is spent."""
        study = self.sitting.stage.study
        steps = self._steps()
        if study.arms_together:
            first = next(steps, ())
            if first:
                yield Visit(first, tuple(study.arms), lambda: next(steps, ()))
            return
        for cells in steps:
            for arm in dict.fromkeys(cell.arm for cell in cells):
                yield from self.sitting.alone(arm, [cell for cell in cells if cell.arm == arm])

    def _steps(self) -> Iterator[tuple[Cell, ...]]:
        sitting = self.sitting
        for block, cells in sitting.left_over():
            before = sitting.standing()
            if cells:
                yield cells
            sitting.conclude(block, cells, before)
        took_s: list[float] = []
        while (reason := self._why_stop(took_s)) is None:
            block, before, began_s = sitting.decided.next_block, sitting.standing(), sitting.spent_s
            wanted = [cell for cell in cells_of_repeat(sitting.stage.study, block) if cell.arm not in sitting.lost]
            cells = sitting.plan(wanted, block, f"repeat {block + 1} of every load")
            yield cells
            sitting.conclude(block, cells, before)
            took_s.append(sitting.spent_s - began_s)
        sitting.end(reason, max(took_s, default=None))

    def _why_stop(self, took_s: list[float]) -> str | None:
        """Return why no further repeat is to be run, None if one is; the first one always is."""
        if not self.sitting.decided.record.steps:
            return None
        known = self.sitting.situation()
        if not known.arms:
            return "no arm is left"
        reason = why_settled(known)
        if reason is None and max(took_s, default=0.0) > self.sitting.left_s:
            return BUDGET_SPENT
        return reason


def why_settled(situation: Situation) -> str | None:
    """Return why repeats of the loads at hand are enough; None if another one is worth it."""
    pairs = combinations(situation.arms, 2)
    compared = [situation.compared(pair, metric) for pair in pairs for metric in situation.wanted.metrics]
    open_ = [known for known in compared if known is not None and not is_narrow(known, situation.wanted.precision)]
    if not open_:
        return ANSWERED
    return None if any(repeats_help(known) for known in open_) else AS_LOADS_ALLOW


def is_narrow(known: Bands, precision: float) -> bool:
    """Say whether the comparison is settled, and its crossings are placed as well as asked."""
    decision = decide(known, MARGIN)
    widths = [zero.high - zero.low for zero in decision.zeros]
    return decision.verdict != "noisy" and max(widths, default=0.0) <= 2 * np.log1p(precision)


def repeats_help(known: Bands) -> bool:
    """Say whether ten more repeats would settle more, or narrow the crossing, if estimates stay as they are."""
    further = decide(known.with_repeats(int(known.repeats.max()) + _FURTHER), MARGIN)
    now = decide(known, MARGIN)
    if now.verdict == "noisy":
        return True
    widths = [max((zero.high - zero.low for zero in each.zeros), default=0.0) for each in (now, further)]
    return widths[1] < (1 - LEAST) * widths[0]
