"""Does what is learnt on some GPUs and models hold for others? Each is predicted with constants fitted on all the rest.

    PYTHONPATH=src:. python benchmarks/held_out.py

By GPU over the field reports and whichbits' own runs, by model over Qwen's table of A100s. Under *as released* are the
constants as they are, under *fitted here* those fitted on the very rows, which no prediction can beat by much.
"""

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmarks.prediction_errors import a100, l4, predicted
from tests.predict.h200_runs import h200_observations
from tests.predict.public_rows import public_observations
from whichbits.predict.calibrate import Observation, calibrate
from whichbits.predict.constants import Constants, default_constants

_PROMPTS = (1, 14336)
Groups = Mapping[str, Sequence[Observation]]


def by_gpu() -> Groups:
    with tempfile.TemporaryDirectory() as folder:
        h200 = [each for each in h200_observations("chat", Path(folder)) if (each.question.concurrency or 0) <= 64]
    return {"L4": l4(), "A100": a100(), "H200": h200}


def by_model() -> Groups:
    groups: dict[str, list[Observation]] = {}
    for row, observation in public_observations():
        if row.table == "qwen" and row.gpus == 1 and row.prompt_tokens in _PROMPTS:
            groups.setdefault(row.model, []).append(observation)
    return groups


def median_error(observations: Iterable[Observation], constants: Constants) -> float:
    errors = []
    for each in observations:
        said = predicted(each, constants)
        errors += [abs(said[name] / value - 1) for name, value in each.measured.items()]
    return float(np.median(errors))


def table(title: str, groups: Groups) -> None:
    default = default_constants()
    print(f"\n| {title} | numbers | as released | fitted on the others | fitted here |\n|---|---|---|---|---|")
    for name, own in groups.items():
        others = [each for group, rows in groups.items() if group != name for each in rows]
        fitted = [calibrate(rows, default).constants for rows in (others, own)]
        errors = [median_error(own, constants) for constants in (default, *fitted)]
        count = sum(len(each.measured) for each in own)
        print(f"| {name} | {count} | " + " | ".join(f"{error:.1%}" for error in errors) + " |", flush=True)


if __name__ == "__main__":
    table("held out GPU", by_gpu())
    table("held out model", by_model())
