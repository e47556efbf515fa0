"""``whichbits view`` where nothing can listen, or there is no folder: one error, and nothing else on stderr."""

import contextlib
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


@pytest.mark.parametrize("host", ["", " "])
@pytest.mark.parametrize(
    ("verb", "option"),
    [(["view", "runs"], "--host"), (["run", "study.yaml"], "--metrics-host"), (["mock"], "--host")],
    ids=["view", "run", "mock"],
)
def test_an_empty_host_opens_no_interface(
    verb: list[str], option: str, host: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """An unset variable of a script leaves one; sockets would take it for 0.0.0.0."""
    (tmp_path / "runs").mkdir()
    with contextlib.chdir(tmp_path):
        assert exit_code([*verb, f"{option}={host}"]) == 2
    said = capsys.readouterr().err
    assert "host_empty" in said
    assert f"{option} is empty" in said


@pytest.mark.parametrize(
    ("host", "guarded"),
    [
        ("127.0.0.1", False),
        ("localhost", False),
        ("0.0.0.0", True),
        ("::", True),
        ("box.example", True),
    ],
)
def test_whoever_else_may_come_needs_the_token(
    host: str, guarded: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing listens: what the server is told of its door is what matters."""
    opened: list[tuple[str, str | None]] = []

    async def serve(*asked: object) -> None:
        asked[3](f"http://{asked[1]}:1/")  # type: ignore[operator]

    def application(folder: Path, host: str, token: str | None, lang: str) -> None:
        opened.append((host, token))

    monkeypatch.setattr("whichbits.cli.view.serve", serve)
    monkeypatch.setattr("whichbits.cli.view.application", application)

    assert exit_code(["view", str(tmp_path), "--host", host]) == 0
    ((at, token),) = opened
    assert at == host
    assert (token is not None) == guarded
    assert ("?token=" in capsys.readouterr().out) == guarded


def test_a_port_that_is_taken_is_told(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert exit_code(["view", str(tmp_path), "--port", str(taken.getsockname()[1])]) == 2
    said = capfd.readouterr().err
    assert "view_no_port" in said
    assert "Warning" not in said


def test_a_folder_that_is_none_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["view", str(tmp_path / "nowhere")]) == 2
    assert "view_no_folder" in capsys.readouterr().err
