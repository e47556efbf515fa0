"""Cards as nvidia-smi tells them."""

import stat
from pathlib import Path

import pytest

from tests.doctor.pretend import Package, interpreter
from whichbits.doctor.gpus import driver, look_at
from whichbits.doctor.interpreter import ask_interpreter
from whichbits.hardware.gpu_states import GpuState, GpuUser, gpu_states, gpu_users

CARD = "0, NVIDIA L4, GPU-1, 580.82.07, 8.9, 23034, {used}, {limit}, 72.00, 2040, {clock}, 2040, {mig}, 0"


def smi(folder: Path, card: str, users: str = "") -> None:
    """Write an nvidia-smi that answers both questions."""
    program = folder / "nvidia-smi"
    program.write_text(f"#!/bin/sh\ncase \"$1\" in *compute-apps*) printf '%s' '{users}';; *) echo '{card}';; esac\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)


def codes(monkeypatch: pytest.MonkeyPatch, folder: Path, card: str, users: str = "") -> dict[str, str]:
    smi(folder, card, users)
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    state = gpu_states()[0]
    return {each.code: each.state for each in look_at(state, gpu_users())}


def test_a_free_card_is_well(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    card = CARD.format(used=3, limit="72.00", clock=2040, mig="[N/A]")
    assert codes(monkeypatch, tmp_path, card) == {"gpu": "good"}


def test_a_card_that_is_not_itself(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    card = CARD.format(used=9000, limit="50.00", clock=1500, mig="Enabled")
    assert codes(monkeypatch, tmp_path, card, "GPU-1, 42, python3, 8990\n") == {
        "gpu_occupied": "problem",
        "gpu_power_capped": "note",
        "gpu_clock_lowered": "note",
        "gpu_mig": "note",
    }


def test_memory_that_nobody_seems_to_hold_is_only_noted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    card = CARD.format(used=9000, limit="72.00", clock=2040, mig="Disabled")
    assert codes(monkeypatch, tmp_path, card) == {"gpu_occupied": "note"}


def test_what_the_driver_does_not_say_is_unknown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    smi(tmp_path, CARD.format(used="[N/A]", limit="[N/A]", clock="[N/A]", mig="[N/A]"), "GPU-1, 42, x, [N/A]\n")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    state = gpu_states()[0]
    assert (state.memory_used, state.power_limit, state.clock_set, state.mig) == (None, None, None, False)
    assert gpu_users() == [GpuUser("GPU-1", "42", "x", None)]


def test_no_card_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert gpu_states() == []


@pytest.mark.parametrize(("version", "code"), [("580.65.06", "driver"), ("575.57.08", "driver_old")])
def test_the_driver_against_torch(tmp_path: Path, version: str, code: str) -> None:
    torch = Package("2.13.0", files={"torch/__init__.py": "", "torch/version.py": "cuda = '13.0'\n"})
    asked = ask_interpreter(str(interpreter(tmp_path, {"torch": torch})))
    card = GpuState(0, "L4", "GPU-1", version, "8.9", 1, 0, 72, 72, 1, 1, 1, mig=False, utilisation=0)
    assert [each.code for each in driver(asked, [card])] == [code]
