"""How far predictions are off from what was measured: the tables of docs/predict.md.

    PYTHONPATH=. python benchmarks/prediction_errors.py

Uncalibrated first, with the 95 % interval and whether it holds the measured value; then calibrated: on the table itself
for the field reports, on some loads for the H200s, so that the others are a test.
"""

import math
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from tests.predict.field_reports import A100, H200, H200_ARMS, L4, h200_question
from tests.predict.h200_runs import h200_observations
from tests.predict.studies import SEED_A100, SEED_L4
from whichbits.predict.calibrate import Observation, calibrate
from whichbits.predict.cell import play_cell
from whichbits.predict.constants import Constants, default_constants
from whichbits.predict.deployment.deployment import Deployment
from whichbits.predict.quantities import quantities
from whichbits.predict.run import deployments, question_of
from whichbits.record.schema import Cell

_DRAWS = 20
_H200_FITTED = (4, 64, 512)
_LATER_FITTED = (4, 64)
_H200_QUANTITIES = ("tpot_ms.p50", "ttft_ms.p50", "output_tokens_per_s")


def l4() -> list[Observation]:
    placed = deployments(SEED_L4)
    return [
        Observation(f"{arm} at {load}", placed[arm], question_of(SEED_L4, Cell(0, arm, load, None, 0)), measured)
        for (arm, load), measured in L4.items()
    ]


def a100() -> list[Observation]:
    placed = deployments(SEED_A100)
    return [
        Observation(arm, placed[arm], question_of(SEED_A100, Cell(0, arm, 32, 10.0, 0)), measured)
        for arm, measured in A100.items()
    ]


def h200() -> list[Observation]:
    return [
        Observation(
            f"{arm} at {load}",
            Deployment.of(H200_ARMS[arm], "H200", "0.25.1"),
            h200_question(load),
            dict(zip(_H200_QUANTITIES, row[1:], strict=True)),
        )
        for (arm, load), row in H200.items()
    ]


def predicted(observation: Observation, constants: Constants) -> Mapping[str, float]:
    return quantities(play_cell(observation.deployment, observation.question, constants))


def interval(values: Sequence[float]) -> tuple[float, float]:
    logs = np.log(values)
    reach = 1.96 * float(logs.std(ddof=1))
    return math.exp(float(logs.mean()) - reach), math.exp(float(logs.mean()) + reach)


def table(title: str, observations: Sequence[Observation], fitted: Sequence[Observation]) -> None:
    default = default_constants()
    calibration = calibrate(fitted, default)
    print(f"\n### {title}\n\n| cell | quantity | measured | predicted | off | 95 % | holds | calibrated, off |")
    print("|---|---|---|---|---|---|---|---|")
    held, errors, after = [], [], []
    for each in observations:
        best, better = predicted(each, default), predicted(each, calibration.constants)
        drawn = [predicted(each, constants) for constants in default.draws(_DRAWS)]
        for name, value in each.measured.items():
            low, high = interval([draw[name] for draw in drawn])
            held.append(low <= value <= high)
            errors.append(abs(best[name] / value - 1))
            after.append(abs(better[name] / value - 1))
            seen = "" if each in fitted else " (not fitted)"
            print(
                f"| {each.name} | {name} | {value:.4g} | {best[name]:.4g} | {best[name] / value - 1:+.0%} "
                f"| {low:.3g} to {high:.3g} | {'yes' if held[-1] else 'no'} | {better[name] / value - 1:+.0%}{seen} |"
            )
    print(f"\nMedian error {np.median(errors):.0%} before and {np.median(after):.0%} after; ", end="")
    print(f"{np.mean(held):.0%} of intervals hold what was measured.")
    moved = {name: factor for name, factor in calibration.factors.items() if abs(factor - 1) > 0.1}
    print("Moved: " + ", ".join(f"`{name}` x {factor:.2f}" for name, factor in moved.items()) + ".")


if __name__ == "__main__":
    table("Qwen2.5-7B on an L4, vLLM 0.27.1", l4(), l4())
    table("Qwen3-14B on two A100s, vLLM 0.11.0", a100(), a100())
    cells = h200()
    table(
        "Qwen2.5-7B on an H200, vLLM 0.25.1",
        cells,
        [each for each in cells if each.question.concurrency in _H200_FITTED],
    )
    with tempfile.TemporaryDirectory() as folder:
        later = list(h200_observations("chat", Path(folder)))
        chat = [each for each in later if each.question.concurrency in _LATER_FITTED]
        table("Later: Qwen2.5-7B on an H200, vLLM 0.25.1", later, chat)
        prefixes = list(h200_observations("prefixes", Path(folder)))
        table("Later: Qwen3-14B on two H200s, vLLM 0.25.1", prefixes, chat)
