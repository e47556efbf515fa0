"""``whichbits view`` where nothing can listen, or there is no folder: one error, and nothing else on stderr."""

import socket
from pathlib import Path

import pytest

from whichbits.cli import exit_code


@pytest.mark.parametrize("place", [["--port", "99999"], ["--port", "-1"], ["--host", "a..b"]])
def test_an_address_that_is_none_is_told(place: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["view", str(tmp_path), *place]) == 2
    said = capfd.readouterr().err
    assert "view_no_port" in said
    assert "Warning" not in said


def test_a_port_that_is_taken_is_told(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert exit_code(["view", str(tmp_path), "--port", str(taken.getsockname()[1])]) == 2
    said = capfd.readouterr().err
    assert "view_no_port" in said
    assert "Warning" not in said


def test_a_folder_that_is_none_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["view", str(tmp_path / "nowhere")]) == 2
    assert "view_no_folder" in capsys.readouterr().err
