"""A study whose arm is a Service: traffic by its address, each pod observed, a pod that is replaced noted."""

import asyncio
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.e2e import paced_server
from tests.e2e.paced_engine import write_study
from tests.e2e.tool import good_exit, run_of, states, tool
from tests.serve.kubernetes.cluster import NAMESPACE, SERVICE, Cluster, FakePod, running_cluster
from whichbits.record.scrapes import read_scrapes
from whichbits.serve.process.server import ServerProcess, free_ports


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    with running_cluster(tmp_path, monkeypatch) as running:
        yield running


@contextmanager
def paced(folder: Path, **options: Any) -> Iterator[str]:
    """Serve the paced server, and yield its address."""
    (port,) = free_ports(1)
    server = ServerProcess([sys.executable, paced_server.__file__, str(port), json.dumps(options)], {}, folder / "log")
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        asyncio.run(server.stop())


def study_of_a_service(folder: Path, url: str) -> Path:
    target = {"kubernetes": {"service": SERVICE, "namespace": NAMESPACE, "port": 80, "url": url}}
    arm = {"weight_format": "fp16", "served_model_name": "paced", "target": target, "replicas": 2}
    path = write_study(folder, {})
    path.write_text(json.dumps(json.loads(path.read_text()) | {"arms": {"sixteen": arm}, "cache": "reset"}))
    return path


def test_a_pod_that_is_replaced_in_mid_run_is_noted(tmp_path: Path, cluster: Cluster) -> None:
    """The server stalls in the second cell, after 4 warm-up requests and 4 of the first."""
    gate = tmp_path / "gate"
    with paced(tmp_path, stalls_at=10, gate=str(gate)) as busy, paced(tmp_path / "second") as idle:
        for pod, backend in zip(cluster.pods, (busy, idle), strict=True):
            pod.backend = backend
        with tool(tmp_path, "run", study_of_a_service(tmp_path, busy), "--plain") as running:
            running.wait_for("sixteen c2  started")
            cluster.pods[1:] = [FakePod("vllm-t9p25", backend=idle)]
            gate.touch()
            code = running.wait()
            told = running.stderr
            assert running.leaves_nothing_behind()

    run = run_of(tmp_path)
    assert code == good_exit(run)
    assert states(run) == ["done", "done"]
    assert not any("pod " in note for note in run.cells[0].notes)
    assert run.cells[1].notes[:2] == ("pod vllm-pm7wp is gone", "pod vllm-t9p25 is new")
    assert "sixteen: pod vllm-pm7wp is gone" in told
    assert [cell.cache_state for cell in run.cells] == ["reset", "reset"]
    assert {record.replica for record in run.records(0)} == {None}
    seen = {(scrape.cell, scrape.phase, scrape.replica) for scrape in read_scrapes(run.folder)}
    assert {replica for cell, phase, replica in seen if (cell, phase) == (1, "before")} == {"vllm-7w92m", "vllm-pm7wp"}
    assert {replica for cell, phase, replica in seen if (cell, phase) == (1, "after")} == {"vllm-7w92m", "vllm-t9p25"}
    recorded = [replica.replica for replica in run.manifest.arms["sixteen"].replicas]
    assert recorded == ["vllm-7w92m", "vllm-pm7wp", "vllm-t9p25"]


def test_ctrl_c_ends_kubectl_and_keeps_what_is_finished(tmp_path: Path, cluster: Cluster) -> None:
    with paced(tmp_path, stalls_at=10, gate=str(tmp_path / "gate")) as busy:
        for pod in cluster.pods:
            pod.backend = busy
        with tool(tmp_path, "run", study_of_a_service(tmp_path, busy), "--plain") as running:
            running.wait_for("sixteen c2  started")
            running.press_ctrl_c()

            assert running.wait() == 130
            assert running.leaves_nothing_behind()
    assert states(run_of(tmp_path)) == ["done", "interrupted"]
