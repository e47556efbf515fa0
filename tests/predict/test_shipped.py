"""Calibrations that come with the release: whole, used where they speak of the case, and no worse where not fitted."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.predict.h200_runs import h200_observations, h200_study
from whichbits.cli import exit_code
from whichbits.errors import BadInput
from whichbits.predict.calibrate import Observation
from whichbits.predict.cell import play_cell
from whichbits.predict.constants import Constants, default_constants
from whichbits.predict.quantities import quantities
from whichbits.predict.shipped import Known, shipped_calibrations, shipped_for
from whichbits.record.run import Run


def test_each_says_where_it_is_from_and_holds_constants_that_there_are() -> None:
    found = shipped_calibrations()

    assert {each.name for each in found.values()} == {"h200-vllm-0.25", "a100-vllm-0.11"}
    for each in found.values():
        assert set(each.constants) <= set(default_constants().cells)
        assert all(cell.value > 0 and cell.sigma >= 0 for cell in each.constants.values())
        assert 0 < each.provenance.residual_after < each.provenance.residual_before
        assert each.provenance.runs
        assert each.provenance.formats


def test_only_the_gpu_and_release_it_speaks_of_gets_it() -> None:
    assert shipped_for("NVIDIA H200", "0.25.1") is shipped_for("H200", "v0.25.0") is not None
    assert shipped_for("H200", "0.26.0") is None
    assert shipped_for("H200", None) is None
    assert shipped_for("H100 SXM", "0.25.1") is None
    with pytest.raises(BadInput, match="H2000"):
        shipped_for("H2000", "0.25.1")


def test_what_belongs_to_the_gpu_is_known_better_and_what_belongs_to_its_host_is_left_alone() -> None:
    found, default = Known(default_constants(), "0.25.1", shipped=True).of("H200"), default_constants()

    kernel = "gemm.hopper.fixed_us"
    assert found.cells[kernel].sigma < default.cells[kernel].sigma
    assert found.cells[kernel].source == "calibration h200-vllm-0.25"
    around = [name for name in default.cells if name.startswith(("host.", "front."))]
    assert around
    assert all(found.cells[name] == default.cells[name] for name in around)
    assert Known(default, "0.25.1").of("H200") is default


def test_step_times_are_nearer_on_loads_that_it_was_not_fitted_to(tmp_path: Path) -> None:
    """The search's loads, 5, 23 and 108, and other starts of the servers; the fit saw 1, 4, 16 and 64."""
    rows = [each for each in h200_observations("search", tmp_path) if each.question.concurrency in (5, 23, 108)]
    after = off(rows, Known(default_constants(), "0.25.1", shipped=True).of("H200"))

    assert len(rows) == 12
    assert after < 0.6 * off(rows, default_constants())
    assert after < 0.02


def off(rows: list[Observation], constants: Constants) -> float:
    """Median of |predicted / measured - 1| of median TPOT."""
    said = [quantities(play_cell(each.deployment, each.question, constants))["tpot_ms.p50"] for each in rows]
    measured = [each.measured["tpot_ms.p50"] for each in rows]
    return float(np.median(np.abs(np.array(said) / np.array(measured) - 1)))


@pytest.mark.parametrize("used", [True, False])
def test_a_prediction_says_that_it_used_one_and_can_be_told_not_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], used: bool
) -> None:
    study = h200_study("chat", tmp_path).model_dump(mode="json", by_alias=True, exclude_unset=True)
    arms = {"fp16": study["arms"]["fp16"] | {"gpus": None}}
    small = {
        "arms": arms,
        "every_arm": {},
        "arms_together": False,
        "loads": [1],
        "repeats": 1,
        "output": str(tmp_path / "runs"),
    }
    (tmp_path / "study.yaml").write_text(json.dumps(study | small))

    flags = ["--draws", "0"] if used else ["--draws", "0", "--no-shipped-calibrations"]
    assert exit_code(["predict", str(tmp_path / "study.yaml"), *flags]) == 0

    (folder,) = (tmp_path / "runs").iterdir()
    run = Run.load(folder)
    rests_on = run.manifest.arms["fp16"].replicas[0].facts["rests_on"].value
    for said in (" ".join(capsys.readouterr().err.split()), " ".join(run.manifest.notes), str(rests_on)):
        assert ("calibration h200-vllm-0.25" in said) is used
