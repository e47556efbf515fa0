"""Arms of a real model, served by a real vLLM: they answer like the source, and a broken one does not."""

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.e2e.tool import AS_INSTALLED, run_of, states, tool
from tests.vllm.studies import ENVIRONMENT, arm, write_study
from whichbits.arms.order import Order, carry_out, source_of
from whichbits.arms.recipe import Wishes
from whichbits.checkpoint.safetensors import read_tensors

pytestmark = pytest.mark.vllm

_JUDGE = Path(__file__).with_name("judge.py")
_SECONDS = 1800
_MODEL = "smollm2-135m-instruct"
_GROUP = 64  # its 576 inputs are no multiple of 128
# Where the processor has AMX, vLLM multiplies 4-bit weights with 8-bit activations unless it is told not to.
_ENVIRONMENT = ENVIRONMENT | {"VLLM_CPU_INT4_W4A8": "0", "VLLM_LOGGING_LEVEL": "ERROR"}


@dataclass(frozen=True)
class Judged:
    """How a model took the text: see ``judge.py``."""

    text: str
    best: tuple[int, ...]
    surprise: float

    def agreement(self, other: "Judged") -> float:
        """Share of places at which both hold the same token for the likeliest."""
        return float(np.mean(np.array(self.best) == np.array(other.best)))


@pytest.fixture(scope="module")
def arms(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of all arms; bf16 among them."""
    output = tmp_path_factory.mktemp("arms")
    for formats, scheme in ((["w8a8-int8", "w4a16"], "compressed-tensors"), (["w4a16"], "gptq"), (["w4a16"], "awq")):
        order = Order(_MODEL, formats, Wishes(scheme, _GROUP), output, 2)
        list(carry_out(order, source_of(order)))
    return output


@pytest.fixture(scope="module")
def reference(arms: Path, vllm_python: Path) -> Judged:
    return judged(vllm_python, arms / "bf16")


def judged(python: Path, model: Path) -> Judged:
    done = subprocess.run(
        [str(python), str(_JUDGE), str(model)],
        env={**os.environ, **_ENVIRONMENT},
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    told: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return Judged(told["text"], tuple(told["best"]), told["surprise"])


def test_a_gguf_file_became_a_model_that_answers_sensibly(reference: Judged) -> None:
    assert "Paris" in reference.text
    assert reference.surprise < 3.0  # a model that knows nothing of English: ln 49152 = 10.8


@pytest.mark.parametrize("name", ["w8a8-int8", "w4a16", "w4a16-gptq", "w4a16-awq"])
def test_an_arm_answers_like_its_source(arms: Path, vllm_python: Path, reference: Judged, name: str) -> None:
    found = judged(vllm_python, arms / name)
    print(f"{name}: agreement {found.agreement(reference):.3f}, {found.surprise:.3f} against {reference.surprise:.3f}")
    agreement, worse = (0.75, 0.1) if name == "w8a8-int8" else (0.5, 0.6)

    assert "Paris" in found.text
    assert found.agreement(reference) >= agreement
    assert found.surprise < reference.surprise + worse


def test_a_study_believes_the_arms(tmp_path: Path, arms: Path, vllm_python: Path) -> None:
    """Loaded bytes, methods and kernels are those that the formats claim: a contradiction would end it with 7."""
    claimed = {
        name: arm(vllm_python, arms / name, weight_format=name, load_format="auto") for name in ("w8a8-int8", "w4a16")
    }
    study = write_study(
        tmp_path, claimed, loads=[{"concurrency": 2}], cell={"requests": 8}, limits={"ready_seconds": 600}
    )
    with tool(tmp_path, "run", study, program=AS_INSTALLED) as running:
        assert running.wait() in (0, 6), running.stderr
    run = run_of(tmp_path)
    kernels = {name: told.replicas[0].facts["quant_kernels"].value for name, told in run.manifest.arms.items()}

    assert states(run) == ["done", "done"]
    assert kernels == {"w8a8-int8": "CPUInt8ScaledMMLinearKernel", "w4a16": "CPUWNA16LinearKernel"}


def test_an_arm_with_shuffled_scales_is_visibly_wrong(
    tmp_path: Path, arms: Path, vllm_python: Path, reference: Judged
) -> None:
    broken = shutil.copytree(arms / "w4a16", tmp_path / "broken")
    random = np.random.default_rng(1)
    for tensor in read_tensors(broken).values():
        if tensor.name.endswith("weight_scale"):
            scales = np.memmap(tensor.file, np.uint16, "r+", tensor.at, (tensor.elements,))
            random.shuffle(scales)
            scales.flush()
    found = judged(vllm_python, broken)
    print(f"shuffled: agreement {found.agreement(reference):.3f}, {found.surprise:.3f}")

    assert found.agreement(reference) < 0.5
    assert found.surprise > reference.surprise + 1.0
