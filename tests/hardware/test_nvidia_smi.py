"""Cards are listed by nvidia-smi's own words; a machine without any has an empty list."""

from pathlib import Path

import pytest

from whichbits.hardware.gpu_states import Cards, look_at_cards
from whichbits.hardware.nvidia_smi import NvidiaSmi, device_name, installed_gpus, used_memory_mib

CARDS = """0, NVIDIA H200, GPU-a, 143771 MiB, 580.82.07, 700.00 W, 1980 MHz
1, NVIDIA H200, GPU-b, 143771 MiB, 580.82.07, 700.00 W, 1980 MHz
2, NVIDIA L4, GPU-c, 23034 MiB, 580.82.07, 72.00 W, 2040 MHz
"""


@pytest.fixture
def cards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text(f"#!/bin/sh\ncat <<'END'\n{CARDS}END\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")


@pytest.mark.usefixtures("cards")
def test_cards_have_names_memory_driver_and_limits() -> None:
    found = installed_gpus()

    assert found is not None
    assert [gpu["name"] for gpu in found] == ["NVIDIA H200", "NVIDIA H200", "NVIDIA L4"]
    assert (found[2]["power.limit"], found[0]["memory.total"]) == ("72.00 W", "143771 MiB")


@pytest.mark.usefixtures("cards")
def test_cards_that_differ_have_no_common_name() -> None:
    found = installed_gpus()

    assert device_name(found, (0, 1)) == "NVIDIA H200"
    assert device_name(found, (2,)) == "NVIDIA L4"
    assert device_name(found, (1, 2)) is None
    assert device_name(found, None) is None


@pytest.mark.parametrize(
    "said",
    [
        b"\xff\xfe garbage\n",
        b"Unable to determine the device handle\n",
        b"x, NVIDIA L4, GPU-a, 1 MiB, 5, 1 W, 1 MHz\n",
        b'"' + b"x" * 200_000,
        b"",
    ],
    ids=["no text", "a sentence", "no index", "an open quote", "nothing"],
)
def test_a_driver_in_trouble_names_no_card(said: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "said").write_bytes(said)
    program = tmp_path / "nvidia-smi"
    program.write_text(f"#!/bin/sh\ncat {tmp_path}/said\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    assert installed_gpus() == []
    assert look_at_cards() == Cards()


def test_no_driver_is_no_card(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    assert installed_gpus() == []
    assert device_name([], None) is None


def test_one_that_hangs_is_asked_once_and_leaves_cards_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text(f"#!/bin/sh\necho >> {tmp_path}/asked\nexec sleep 60\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    assert look_at_cards(0.2) == Cards(silent=True)
    assert (tmp_path / "asked").read_text() == "\n"
    monkeypatch.setattr("whichbits.hardware.nvidia_smi.NvidiaSmi", lambda: NvidiaSmi(0.2))
    assert installed_gpus() is None
    assert used_memory_mib() is None
    assert device_name(None, (0,)) is None
