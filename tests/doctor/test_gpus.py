"""Cards as nvidia-smi tells them."""

import stat
from pathlib import Path

import pytest

from tests.doctor.pretend import Package, interpreter
from whichbits.doctor.diagnosis import Patient
from whichbits.doctor.gpus import check_gpus, driver, look_at
from whichbits.doctor.interpreter import ask_interpreter
from whichbits.hardware.gpu_states import Cards, GpuState, GpuUser, look_at_cards

# As nvidia-smi 580.159.04 answers for an H200, with what differs between tests left open.
CARD = (
    "0, NVIDIA H200, GPU-c66081e9-2f34-5f91-0449-9fa1c36be990, 580.159.04, 9.0, 143771, {used}, {limit}, 700.00, 1980, "
    "{clock}, 1980, {mig}, 0, {free}, {persistent}, {mode}"
)
UUID = "GPU-c66081e9-2f34-5f91-0449-9fa1c36be990"
USER = f"{UUID}, 442, python3, 4706\n"
IDLE = f"{UUID}, Not Active, Not Active, Not Active, Not Active"
NO_FIELD = 'Field "clocks_event_reasons.hw_thermal_slowdown" is not a valid field to query.'
DEFAULTS = {
    "used": "0",
    "limit": "700.00",
    "clock": "1980",
    "mig": "Disabled",
    "free": "143156",
    "persistent": "Enabled",
    "mode": "Default",
}


def card(**different: str) -> str:
    return CARD.format(**(DEFAULTS | different))


def smi(folder: Path, card: str, users: str = "", slowed: str = IDLE, *, old: bool = False) -> None:
    """Write an nvidia-smi that answers what it is asked; an ``old`` one does not know the newer fields."""
    program = folder / "nvidia-smi"
    unknown = f"echo '{NO_FIELD}'; exit 2" if old else f"echo '{slowed}'"
    program.write_text(
        f"#!/bin/sh\ncase \"$1\" in\n*compute-apps*) printf '%s' '{users}';;\n"
        f"*clocks_event_reasons*) {unknown};;\n*clocks_throttle_reasons*) echo '{slowed}';;\n*) echo '{card}';;\nesac\n"
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)


def codes(
    monkeypatch: pytest.MonkeyPatch, folder: Path, card: str, users: str = "", slowed: str = IDLE, *, old: bool = False
) -> dict[str, str]:
    smi(folder, card, users, slowed, old=old)
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    cards = look_at_cards()
    return {each.code: each.state for each in look_at(cards.states[0], list(cards.users))}


def test_a_free_card_is_well(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert codes(monkeypatch, tmp_path, card()) == {"gpu": "good"}
    assert codes(monkeypatch, tmp_path, card(mig="[N/A]", persistent="[N/A]", mode="[N/A]")) == {"gpu": "good"}


def test_a_card_that_is_not_itself(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    odd = card(used="4715", free="138442", limit="500.00", clock="1500", mig="Enabled", persistent="Disabled")
    assert codes(monkeypatch, tmp_path, odd, USER) == {
        "gpu_occupied": "problem",
        "gpu_power_capped": "note",
        "gpu_clock_lowered": "note",
        "gpu_mig": "note",
        "gpu_not_persistent": "note",
    }


@pytest.mark.parametrize(("mode", "state"), [("Exclusive_Process", "note"), ("Prohibited", "problem")])
def test_a_card_that_turns_processes_away(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, mode: str, state: str
) -> None:
    assert codes(monkeypatch, tmp_path, card(mode=mode)) == {"gpu_compute_mode": state}


@pytest.mark.parametrize("old", [False, True])
def test_a_card_that_is_held_down_now(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, old: bool) -> None:
    hot = f"{UUID}, Active, Not Active, Active, Not Active"
    assert codes(monkeypatch, tmp_path, card(), slowed=hot, old=old) == {"gpu_slowed_now": "note"}
    assert look_at_cards().states[0].slowed_by == ("hw_thermal_slowdown", "sw_thermal_slowdown")


def test_memory_that_nobody_seems_to_hold_is_only_noted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert codes(monkeypatch, tmp_path, card(used="9000")) == {"gpu_occupied": "note"}


def test_what_the_driver_does_not_say_is_unknown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    silent = dict.fromkeys(("used", "limit", "clock", "mig", "free", "persistent", "mode"), "[N/A]")
    smi(tmp_path, card(**silent), "GPU-1, 42, x, [N/A]\n")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    cards = look_at_cards()
    (state,) = cards.states
    assert (state.memory_used, state.memory_free, state.power_limit, state.clock_set) == (None, None, None, None)
    assert (state.mig, state.persistent, state.compute_mode) == (False, None, None)
    assert cards.users == (GpuUser("GPU-1", "42", "x", None),)


@pytest.mark.parametrize("told", ["[N/A]", "[Insufficient Permissions]", "nan", "inf"])
def test_what_the_driver_does_not_say_of_a_card_that_is_used_is_not_0(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, told: str
) -> None:
    """As where MIG is on, inside a container."""
    smi(tmp_path, card(used=told, free=told, mig="Enabled").replace(", Enabled, 0, ", f", Enabled, {told}, "), USER)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    cards = look_at_cards()
    said = {each.code: each.found for each in look_at(cards.states[0], list(cards.users))}

    assert said["gpu_occupied"] == "\N{EN DASH} GiB are taken, \N{EN DASH} % busy: python3 (pid 442)"
    assert cards.states[0].memory_free is None


def test_no_card_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert look_at_cards() == Cards()


def test_a_card_of_which_only_the_state_is_told_is_not_called_free(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """nvidia-smi answers the first question and hangs at the next; who uses the card is then not known."""
    smi(tmp_path, card(limit="500.00"))
    program = tmp_path / "nvidia-smi"
    asked = program.read_text().replace("*clocks_event_reasons*) ", "*clocks_event_reasons*) exec sleep 60; ")
    program.write_text(asked.replace("#!/bin/sh\n", f"#!/bin/sh\necho >> {tmp_path}/asked\n"))
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    found = {each.code: each for each in check_gpus(Patient((), None, look_at_cards(5.0)))}

    assert set(found) == {"nvidia_smi_silent", "gpu_power_capped"}
    assert "what slows the cards and who uses them are not known" in found["nvidia_smi_silent"].found
    assert (tmp_path / "asked").read_text().count("\n") == 2


def test_a_driver_that_fails_is_not_called_a_missing_card(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text("#!/bin/sh\necho 'Failed to initialize NVML: Driver/library version mismatch'\nexit 18\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")

    (said,) = check_gpus(Patient((), None, look_at_cards(60)))

    assert (said.code, said.state) == ("nvidia_smi_failed", "problem")
    assert "Driver/library version mismatch" in said.found


@pytest.mark.parametrize(("version", "code"), [("580.65.06", "driver"), ("575.57.08", "driver_old")])
def test_the_driver_against_torch(tmp_path: Path, version: str, code: str) -> None:
    torch = Package("2.13.0", files={"torch/__init__.py": "", "torch/version.py": "cuda = '13.0'\n"})
    asked = ask_interpreter(str(interpreter(tmp_path, {"torch": torch})))
    card = GpuState(0, "L4", "GPU-1", version, "8.9", 1, 0, 72, 72, 1, 1, 1, mig=False, utilisation=0)
    assert [each.code for each in driver(asked, [card])] == [code]
