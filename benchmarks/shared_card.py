"""Two replicas on one H200: how far off predictions are that let them share it, and that give each a card of its own.

    PYTHONPATH=src:. python benchmarks/shared_card.py

The runs are whichbits' own, in tests/predict/h200_runs.json; constants those of the calibration that ships, which was
fitted to other studies. New connections fall at random on the replicas, so that the median of ten ways is told.
"""

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median

from tests.predict.h200_runs import Which, h200_observations
from whichbits.predict.calibrate import Observation
from whichbits.predict.cell import play_cell
from whichbits.predict.constants import Constants, default_constants
from whichbits.predict.quantities import quantities
from whichbits.predict.shipped import Known

RUNS: tuple[Which, ...] = ("one_card", "one_card_warm")
QUANTITIES = {
    "requests/s": "output_tokens_per_s",
    "median TTFT from send, ms": "ttft_from_send_ms.p50",
    "median TPOT, ms": "tpot_ms.p50",
    "median ITL, ms": "itl_ms.p50",
    "prefix hit rate, %": "prefix_hit_rate",
}
_SCALE = {"output_tokens_per_s": 1 / 32, "prefix_hit_rate": 100.0}
_WAYS = 10


def predicted(each: Observation, constants: Constants) -> dict[str, float]:
    """Return the median of each quantity over ways in which connections may fall."""
    plays = [
        quantities(play_cell(each.deployment, replace(each.question, seed=seed), constants, keep_steps=True))
        for seed in range(_WAYS)
    ]
    return {name: median(play[name] for play in plays) for name in QUANTITIES.values()}


def apart(each: Observation) -> Observation:
    """Return the same cell with a card a replica."""
    arm = each.deployment.arm.model_copy(update={"gpus": None})
    return replace(each, deployment=replace(each.deployment, arm=arm))


def rows(constants: Constants) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        for run in RUNS:
            for each in h200_observations(run, Path(folder)):
                before, after = predicted(apart(each), constants), predicted(each, constants)
                for title, name in QUANTITIES.items():
                    scale, measured = _SCALE.get(name, 1.0), each.measured[name]
                    told = [f"{scale * said[name]:.3g} | {said[name] / measured - 1:+.0%}" for said in (before, after)]
                    yield f"| {run}, {each.name} | {title} | {scale * measured:.3g} | {' | '.join(told)} |"


if __name__ == "__main__":
    print("| cell | quantity | measured | a card each | off | one card shared | off |")
    print("|---|---|---|---|---|---|---|")
    for row in rows(Known(default_constants(), "0.25.1", shipped=True).of("H200")):
        print(row)
