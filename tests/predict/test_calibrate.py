"""A calibration finds what was changed, and says what it knows."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.predict.studies import SEED_L4
from whichbits.errors import BadInput
from whichbits.predict.calibrate import Observation, calibrate
from whichbits.predict.calibration_file import read_calibration, write_calibration
from whichbits.predict.cell import play_cell
from whichbits.predict.constants import Constants, default_constants
from whichbits.predict.quantities import quantities
from whichbits.predict.run import deployments, question_of
from whichbits.record.schema import Cell
from whichbits.study.model import CellSize

STUDY = SEED_L4.model_copy(update={"cell": CellSize(requests=24)})
MEMORY, ARITHMETIC = "gemm.ada.memory", "power.L4"


def observed(constants: Constants) -> list[Observation]:
    """Return what a machine with these constants would show at two loads."""
    found = []
    for arm in ("fp16", "w8a8"):
        for load in (1, 24):
            deployment = deployments(STUDY)[arm]
            question = question_of(STUDY, Cell(0, arm, load, None, 0))
            measured = quantities(play_cell(deployment, question, constants))
            kept = {name: measured[name] for name in ("tpot_ms.p50", "ttft_ms.p50", "output_tokens_per_s")}
            found.append(Observation(f"{arm} at {load}", deployment, question, kept))
    return found


def test_a_slower_machine_is_recognised() -> None:
    truth = default_constants().moved({MEMORY: -0.08, ARITHMETIC: 0.25})
    found = calibrate(observed(truth), default_constants())
    assert found.spread(after=False) > 0.08
    assert found.spread(after=True) < 0.02
    assert np.log(found.factors[MEMORY]) == pytest.approx(-0.08, abs=0.05)
    assert np.log(found.factors[ARITHMETIC]) == pytest.approx(0.25, abs=0.12)


def test_what_was_seen_is_known_better_and_what_was_not_is_not() -> None:
    found = calibrate(observed(default_constants()), default_constants())
    before = default_constants().cells
    assert found.constants.cells[MEMORY].sigma < 0.8 * before[MEMORY].sigma
    assert found.constants.cells["kernel.marlin.ada.math"] == before["kernel.marlin.ada.math"]
    assert all(found.constants.cells[name].sigma <= cell.sigma for name, cell in before.items())


def test_nothing_measured_is_refused() -> None:
    with pytest.raises(BadInput) as refused:
        calibrate([], default_constants())
    assert refused.value.code == "nothing_to_fit"


def test_a_calibration_survives_its_file(tmp_path: Path) -> None:
    moved = default_constants().moved({MEMORY: -0.1}).known({MEMORY: 0.02}, "calibrated")
    path = tmp_path / "calibration.json"
    write_calibration(path, moved)
    assert read_calibration(path) == moved
    assert list(json.loads(path.read_text())["constants"]) == [MEMORY]


@pytest.mark.parametrize("text", ["", "[]", '{"constants": {"no.such": {"value": 1, "sigma": 1, "source": ""}}}'])
def test_what_is_no_calibration_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "calibration.json"
    path.write_text(text)
    with pytest.raises(BadInput) as refused:
        read_calibration(path)
    assert refused.value.code == "calibration_unusable"
