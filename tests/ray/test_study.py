"""A study whose client is a Ray cluster: quiet, complete, and refused in one sentence where there is no cluster."""

import json
import socket
import time
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.paced_engine import write_study
from tests.e2e.tool import AS_INSTALLED, run_of, states, tool

pytestmark = pytest.mark.ray


def study(folder: Path, ray: str, itl_ms: float = 5) -> Path:
    return write_study(
        folder,
        {"mock": {"ttft_ms": 5, "itl_ms": itl_ms}},
        every_arm={"engine": "mock", "model": "whichbits-mock"},
        traffic={"kind": "random", "input_tokens": 40, "output_tokens": 12},
        loads=[4],
        cell={"per_stream": 4, "at_least": 16},
        client={"workers": 2, "ray": ray},
    )


def test_a_study_is_sent_by_the_cluster_of_this_machine(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", cluster.address)
    with tool(tmp_path, "run", study(tmp_path, "auto"), "--json", "--plain", program=AS_INSTALLED) as running:
        code = running.wait()

    assert code in (0, 6), running.stderr  # 6: a busy machine made the client late
    (cell,) = json.loads(running.stdout)["cells"]
    assert cell["requests"] == 16
    (recorded,) = run_of(tmp_path).cells
    assert recorded.client is not None
    assert recorded.client.workers == 2
    assert recorded.client.clock_error_ms is not None
    assert any(note.startswith("sent from ") for note in recorded.notes)
    assert " ray" not in running.stderr.lower()


def test_ctrl_c_ends_it_in_order(cluster: Any, tmp_path: Path) -> None:
    """Ray has handlers of its own; the tool's count."""
    path = study(tmp_path, cluster.address, itl_ms=200)  # the cell takes ten seconds
    with tool(tmp_path, "run", path, "--plain", program=AS_INSTALLED) as running:
        running.wait_for("mock c4  started")
        time.sleep(0.5)  # so that the actors are at work
        running.press_ctrl_c()
        code = running.wait()
        assert running.leaves_nothing_behind()

    assert code == 130, running.stderr
    assert states(run_of(tmp_path)) == ["interrupted"]
    assert "Traceback" not in running.stderr


def test_no_cluster_is_one_sentence_at_once(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with tool(tmp_path, "run", study(tmp_path, f"127.0.0.1:{port}"), "--plain", program=AS_INSTALLED) as running:
        assert running.wait() == 6

    assert "ray_unreachable" in running.stderr
    assert "refused" in running.stderr
    assert "Traceback" not in running.stderr
    assert not (tmp_path / "runs").exists()
