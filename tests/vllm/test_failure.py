"""A real vLLM that cannot start, is killed or hangs costs its own cells, in bounded time, and leaves nothing behind."""

import signal
from collections import Counter
from pathlib import Path

import pytest

from tests.e2e.tool import AS_INSTALLED, run_of, states, tool
from tests.vllm.family import descendants, engine_core, still_alive
from tests.vllm.studies import ENVIRONMENT, arm, write_study

pytestmark = pytest.mark.vllm

_LONG_CELL = {"cell": {"requests": 400}, "loads": [{"request_rate": 40, "concurrency": 8}, {"concurrency": 4}]}


def test_a_cache_too_small_for_the_context_is_told_by_its_first_cause(
    tmp_path: Path, vllm_python: Path, model: Path
) -> None:
    """The worker's words are quoted, not the engine core's "failed to start" that follows from them."""
    environment = {name: value for name, value in ENVIRONMENT.items() if name != "VLLM_CPU_KVCACHE_SPACE"}
    bad = arm(vllm_python, model, max_model_len=4096, options={"kv_cache_memory_bytes": 2**20}, environment=environment)
    with tool(tmp_path, "run", write_study(tmp_path, {"bad": bad}), program=AS_INSTALLED) as running:
        assert running.wait() == 3
        assert running.leaves_nothing_behind()

        assert "bad: the server ended with exit code 1 before it was ready" in running.stderr
        assert "To serve at least one request with the model's max seq len (4096)" in running.stderr
        assert "initialization failed" not in running.stderr
    assert states(run_of(tmp_path)) == ["skipped"]


def test_kill_9_of_one_replicas_engine_in_mid_cell(tmp_path: Path, vllm_python: Path, model: Path) -> None:
    study = write_study(tmp_path, {"bf16": arm(vllm_python, model, replicas=2)}, **_LONG_CELL)
    with tool(tmp_path, "run", study, program=AS_INSTALLED) as running:
        running.wait_for("started, 400 requests")
        pids = descendants(running)
        engine_core(running, 1).kill()
        assert running.wait() == 3

        assert "replica 1: the server ended with exit code" in running.stderr
        assert "while it was serving" in running.stderr
        assert "engine core exited unexpectedly" in running.stderr
        assert "bf16-1.log" in "".join(running.stderr.split())
    assert still_alive(pids) == []
    run = run_of(tmp_path)
    assert states(run) == ["interrupted", "skipped"]
    failed = Counter(record.replica for record in run.records(0) if not record.succeeded)
    succeeded = Counter(record.replica for record in run.records(0) if record.succeeded)
    assert set(failed) == {"1"}
    assert succeeded["0"] == 200


def test_an_engine_that_hangs_in_mid_cell(tmp_path: Path, vllm_python: Path, model: Path) -> None:
    """vLLM's health check goes on saying 200 while its engine core stands still; the requests tell."""
    # A busy machine may be silent for a while before the engine is stopped.
    limits = {"ready_seconds": 600, "silence_seconds": 15, "request_seconds": 45}
    study = write_study(
        tmp_path,
        {"bf16": arm(vllm_python, model)},
        cell={"requests": 16},
        loads=[{"request_rate": 4, "concurrency": 8}],
        limits=limits,
    )
    with tool(tmp_path, "run", study, program=AS_INSTALLED) as running:
        running.wait_for("started, 16 requests")
        pids = descendants(running)
        engine_core(running, 0).send_signal(signal.SIGSTOP)
        assert running.wait() in (3, 4)
    assert still_alive(pids) == []
    run = run_of(tmp_path)
    codes = Counter(record.error_code for record in run.records(0))
    assert codes["timeout_silence"] >= 8
    assert set(codes) <= {None, "timeout_silence"}
