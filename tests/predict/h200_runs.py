"""What whichbits measured on H200s after the predictor was made: the runs' numbers, and the studies as they ran."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from studies.h200.make_arms import ARMS, write_config
from whichbits.predict.calibrate import Observation
from whichbits.predict.run import deployments, question_of
from whichbits.record.schema import Cell
from whichbits.study.model import Study
from whichbits.study.read import read_study

_ROOT = Path(__file__).parents[2]
Which = Literal["chat", "prefixes", "search", "longer_search", "one_replica", "one_card", "one_card_warm"]


def h200_run(which: Which) -> Mapping[str, Any]:
    """Return a run's numbers: ``cells`` with one value a repeat, and ``kv_cache_tokens`` by arm."""
    found: Mapping[str, Any] = json.loads((Path(__file__).parent / "h200_runs.json").read_text(encoding="utf-8"))[which]
    return found


def h200_study(which: Which, folder: Path) -> Study:
    """Return the study as a predictor gets it; ``folder`` takes the checkpoints' configs."""
    for name, arm in ARMS.items():
        write_config(folder / name, *arm)
    study = read_study(_ROOT / h200_run(which)["study"])
    # When the others were measured, their studies gave no cache its size.
    given = {} if which == "one_card_warm" else {"kv_cache_gib": None}
    arms = {
        name: arm.model_copy(update={"model": str(folder / Path(arm.model).name), **given})
        for name, arm in study.arms.items()
    }
    return study.model_copy(update={"arms": arms, "gpu": "H200", "engine_version": "0.25.1"})


def h200_observations(which: Which, folder: Path, repeat: int | None = None) -> Iterator[Observation]:
    """Return every cell with what one repeat measured, or the mean of all."""
    study = h200_study(which, folder)
    placed = deployments(study)
    for row in h200_run(which)["cells"]:
        arm, load, rate = row["arm"], row["concurrency"], row["request_rate"]
        lists = {name: values for name, values in row.items() if isinstance(values, list)}
        measured = {
            name: sum(values) / len(values) if repeat is None else values[repeat] for name, values in lists.items()
        }
        question = question_of(study, Cell(0, arm, load, rate, 0))
        yield Observation(f"{arm} at {load}", placed[arm], question, measured)
