"""Others on the machine matter where the processor serves the arm, or where they take a large share of it."""

from dataclasses import replace

import pytest

from tests.analyze.make_cell import summary
from tests.record.make_run import TWO_ARMS, arm_record, manifest
from whichbits.analyze.findings.client import busy_machine
from whichbits.analyze.findings.observed import Observed
from whichbits.record.schema import ArmRecord, Cell, Fact

EMBEDDED = arm_record("arm", TWO_ARMS["bf16"])


def vllm(*, command: tuple[str, ...] = ("vllm",), url: str = "http://127.0.0.1:8000", **facts: str) -> ArmRecord:
    told = {name: Fact(value, "server log") for name, value in facts.items()}
    replica = replace(EMBEDDED.replicas[0], command=command, url=url, facts=told)
    return replace(EMBEDDED, engine="vllm", replicas=(replica,))


def said(arm: ArmRecord, others: float | None, cores: int | None = 32) -> list[str]:
    recorded = Cell(0, "arm", 4, None, 0, state="done", other_cpu_cores=others)
    host = {} if cores is None else {"cores": cores}
    known = replace(manifest(cells=[recorded]), host=host, arms={"arm": arm})
    return [finding.text for finding in busy_machine(Observed(known, [summary("arm", 4, 10.0)]))]


@pytest.mark.parametrize("arm", [EMBEDDED, vllm(device="cpu")])
def test_a_processor_that_serves_has_nothing_to_spare(arm: ArmRecord) -> None:
    assert "up to 0.39 of its 32 cores busy" in said(arm, 0.39)[0]
    assert said(arm, 0.39, cores=None)
    assert not said(arm, 0.05)
    assert not said(arm, None)


@pytest.mark.parametrize("arm", [vllm(), vllm(device="cuda"), vllm(command=(), url="http://10.0.0.7:8000")])
def test_beside_a_gpu_only_a_large_share_matters(arm: ArmRecord) -> None:
    assert not said(arm, 0.39)
    assert not said(arm, 8.0)
    assert "up to 8.10 of its 32 cores" in said(arm, 8.1)[0]
    assert not said(arm, 8.1, cores=None)


@pytest.mark.parametrize("url", ["http://127.0.0.1:8000", "http://localhost:8000/v1", "http://[::1]:8000"])
def test_a_server_here_that_somebody_else_started_is_no_disturbance(url: str) -> None:
    assert not said(vllm(command=(), url=url, device="cpu"), 30.0)


def test_an_arm_on_another_machine_is_not_slowed_by_this_processor() -> None:
    assert not said(vllm(command=(), url="http://10.0.0.7:8000", device="cpu"), 0.39)
