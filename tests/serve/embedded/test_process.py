"""How the server process starts, ends, and says why."""

import os
import signal
from pathlib import Path

import psutil
import pytest

from tests.serve.embedded.running_server import serving
from whichbits.serve.embedded.__main__ import main
from whichbits.serve.embedded.launch import EmbeddedEngine


def test_sigterm_ends_server_and_engine(tiny_model: Path, tmp_path: Path) -> None:
    with serving(tiny_model, tmp_path / "log") as server:
        children = psutil.Process(server.process.pid).children()
        server.process.send_signal(signal.SIGTERM)

        assert server.process.wait(timeout=60) == 0
        assert len(children) == 1
        assert not children[0].is_running()


def test_an_engine_that_dies_ends_the_server_with_its_cause(tiny_model: Path, tmp_path: Path) -> None:
    with serving(tiny_model, tmp_path / "log") as server:
        (engine,) = psutil.Process(server.process.pid).children()
        os.kill(engine.pid, signal.SIGKILL)

        assert server.process.wait(timeout=60) == 1
    assert "ended with SIGKILL (often the kernel, out of memory)" in str(
        EmbeddedEngine().failure(server.log.read_text())
    )


def test_a_file_that_is_no_model_is_refused_with_a_reason(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "text.gguf").write_text("not a model")

    assert main(["--model", str(tmp_path / "text.gguf"), "--port", "0"]) == 1
    assert "does not start with GGUF" in str(EmbeddedEngine().failure(capfd.readouterr().out))
