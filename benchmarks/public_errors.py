"""How far predictions are off from public tables, by GPU, format and metric, and which pairs have the wrong winner.

    PYTHONPATH=src:. python benchmarks/public_errors.py [DRAWS]

Some constants come from these tables, so this is no test of them; `benchmarks/held_out.py` is one.
"""

import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import combinations

import numpy as np

from tests.predict.public_rows import Row, public_observations
from whichbits.errors import BadInput
from whichbits.predict.calibrate import Observation
from whichbits.predict.cell import play_cell
from whichbits.predict.constants import Constants, default_constants
from whichbits.predict.quantities import Quantities, quantities

_MATTERS = 1.1
"""Pairs whose values differ by less have no winner."""
_OUTLIER = 0.3
_HIGHER_IS_BETTER = ("output_tokens_per_s", "total_tokens_per_s")
Pairs = Sequence[tuple[Row, Observation]]


def predicted(observation: Observation, constants: Constants) -> Quantities:
    return quantities(play_cell(observation.deployment, observation.question, constants))


def interval(values: Sequence[float]) -> tuple[float, float]:
    logs = np.log(values)
    reach = 1.96 * float(logs.std(ddof=1))
    return float(np.exp(logs.mean() - reach)), float(np.exp(logs.mean() + reach))


def judged(draws: int) -> list[tuple[Row, float, bool]]:
    """Return each row with predicted / measured, and whether the interval holds the measured value."""
    constants = default_constants()
    drawn = constants.draws(draws)
    seen: dict[tuple[object, ...], tuple[Quantities, list[Quantities]]] = {}
    found = []
    for row, observation in public_observations():
        key = (*row.place[:-1], row.format)
        try:
            if key not in seen:
                best = predicted(observation, constants)
                seen[key] = best, [predicted(observation, each) for each in drawn]
        except BadInput as error:
            print(f"refused: {row.model} {row.format} on {row.gpus} {row.gpu}: {error.what}")
            continue
        best, plays = seen[key]
        low, high = interval([play[row.metric] for play in plays])
        found.append((row, best[row.metric] / row.value, low <= row.value <= high))
    return found


def table(found: Iterable[tuple[Row, float, bool]]) -> None:
    groups = defaultdict(list)
    for row, ratio, held in found:
        groups[row.table, row.gpu, row.format, row.metric].append((ratio, held))
    print("| table | GPU | format | metric | rows | median off | worst | intervals that hold |")
    print("|---|---|---|---|---|---|---|---|")
    for key, values in groups.items():
        off = [ratio - 1 for ratio, _ in values]
        worst = max(off, key=abs)
        held = np.mean([held for _, held in values])
        print(f"| {' | '.join(key)} | {len(off)} | {np.median(np.abs(off)):.0%} | {worst:+.0%} | {held:.0%} |")


def pairs(found: Sequence[tuple[Row, float, bool]]) -> None:
    right, wrong = 0, []
    for (one, first, _), (other, second, _) in combinations(found, 2):
        measured = one.value / other.value
        if one.place != other.place or max(measured, 1 / measured) < _MATTERS:
            continue
        said = measured * first / second
        if (said > 1) == (measured > 1):
            right += 1
        else:
            wrong.append(f"{one.place}: {one.format} / {other.format} measured {measured:.2f}, predicted {said:.2f}")
    print(f"\n{right} of {right + len(wrong)} pairs have the right winner.")
    print("\n".join(wrong))


if __name__ == "__main__":
    rows = judged(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
    table(rows)
    errors = [abs(ratio - 1) for _, ratio, _ in rows]
    print(f"\nMedian {np.median(errors):.0%}; {np.mean([held for _, _, held in rows]):.0%} of intervals hold.")
    pairs(rows)
    print(f"\nOff by more than {_OUTLIER:.0%}:")
    for row, ratio, held in rows:
        if abs(ratio - 1) > _OUTLIER:
            print(f"{row.place} {row.format}: {row.value:g}, {ratio - 1:+.0%}{'' if held else ', not held'}")
