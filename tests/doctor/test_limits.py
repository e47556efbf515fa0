"""What the system lets one process have, held against a study's highest load."""

from pathlib import Path

import pytest

from whichbits.doctor import limits
from whichbits.doctor.limits import files, ports, processes
from whichbits.hardware.open_files import OpenFiles
from whichbits.study.model import Study

NO_LIMIT = -1


def study(streams: int) -> Study:
    return Study.model_validate(
        {
            "name": "wide",
            "arms": {"a": {"weight_format": "fp16", "model": "m"}},
            "traffic": {"kind": "chat"},
            "loads": [streams],
            "client": {"workers": 1},
        }
    )


def test_open_files_are_held_against_the_highest_load() -> None:
    assert files(OpenFiles(4096, 4096), study(900)).found == "up to 4096"
    assert files(OpenFiles(256, 4096), study(900)).found == "up to 4096, raised for the run from 256"
    assert files(OpenFiles(256, 512), study(16)).state == "good"
    assert files(OpenFiles(256, 512), study(900)).state == "problem"
    assert files(OpenFiles(256, 512), None).state == "note"
    assert files(OpenFiles(None, None), study(900)).found == "no limit"


@pytest.mark.parametrize(
    ("soft", "in_container", "state"),
    [(NO_LIMIT, None, "good"), (96000, 1000, "note"), (96000, 100, "problem"), (200, None, "problem")],
)
def test_the_tighter_limit_of_processes_counts(soft: int, in_container: int | None, state: str) -> None:
    assert processes(soft, in_container).state == state


def test_ports_for_servers_and_for_every_stream(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "range").write_text("32768\t33000\n")
    monkeypatch.setattr(limits, "_PORTS", tmp_path / "range")
    assert [(each.code, each.state) for each in ports(study(100))] == [("ports", "good")]
    assert [(each.code, each.state) for each in ports(study(900))] == [("ports_few", "problem")]
    monkeypatch.setattr(limits, "_PORTS", tmp_path / "none")
    assert [each.state for each in ports(study(900))] == ["unknown"]


def test_no_port_to_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(_: int) -> None:
        raise OSError(98, "Address already in use")

    monkeypatch.setattr(limits, "free_ports", none)
    assert [(each.code, each.state) for each in ports(None)] == [("ports_taken", "problem")]
