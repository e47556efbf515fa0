"""Pods behind a Service are found, observed one by one and followed, through the real kubectl."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from aiohttp import web

from tests.serve.kubernetes.cluster import NAMESPACE, SERVICE, Cluster, FakePod, serving, write_kubeconfig
from whichbits.errors import ArmMismatch, BadInput, ServerNotReady, WhichbitsError
from whichbits.record.schema import Fact
from whichbits.serve.endpoint.control import ControlClient
from whichbits.serve.engine import Launch, Place, Prepared
from whichbits.serve.kubernetes.fleet import KubernetesFleet
from whichbits.serve.order import Order
from whichbits.study.arm import Arm
from whichbits.study.model import Limits

URL = "http://127.0.0.1:9"
"""Nobody listens there: what a fleet does before traffic needs no Service that answers."""


@dataclass(frozen=True)
class LogEngine:
    """An engine of which everything stands in its log."""

    name: str = "log"
    health_path: str = "/health"
    cache_reset_path: str | None = "/reset_prefix_cache"
    sleep_option: str | None = None

    def measures_free_memory(self, arm: Arm) -> bool:
        return not arm.kv_cache_gib

    def check(self, arm: Arm) -> list[str]:
        return []

    def prepare(self, arm: Arm) -> Prepared:
        return Prepared(arm.model, {})

    def command(self, arm: Arm, prepared: Prepared, place: Place) -> Launch:
        raise NotImplementedError

    def served_model(self, arm: Arm) -> str:
        raise NotImplementedError

    def read_facts(self, log_text: str) -> dict[str, Fact]:
        return {"first_line": Fact(log_text.partition("\n")[0], "log")} if log_text else {}

    async def ask_facts(self, control: ControlClient) -> dict[str, Fact]:
        return {"running": Fact((await control.scrape()).text.split()[-1], "/metrics")}

    def failure(self, log_text: str) -> str | None:
        return next((line for line in log_text.splitlines() if "Error: " in line), None)

    def verify(self, arm: Arm, checkpoint: dict[str, Fact], facts: dict[str, Fact]) -> list[str]:
        return ["4 bits were loaded"] if "awq" in str(facts["image"].value) else []


def fleet(
    folder: Path, *, ready_seconds: float = 0.1, arm: Mapping[str, Any] | None = None, **kubernetes: Any
) -> KubernetesFleet:
    asked = {
        "weight_format": "bf16",
        "model": "Qwen/Qwen3-14B",
        "served_model_name": "qwen3",
        "target": {"kubernetes": {"service": SERVICE, "namespace": NAMESPACE, "port": 80, "url": URL} | kubernetes},
    }
    served = Arm.model_validate(asked | dict(arm or {}))
    engine = LogEngine()
    limits = Limits(ready_seconds=ready_seconds)
    order = Order("bf16", served, engine, engine.prepare(served), folder / "run", limits)
    assert served.target is not None
    assert served.target.kubernetes is not None
    return KubernetesFleet(order, served.target, served.target.kubernetes)


@asynccontextmanager
async def started(folder: Path, **changes: Any) -> AsyncIterator[KubernetesFleet]:
    running = fleet(folder, **changes)
    try:
        await running.start()
        yield running
    finally:
        await running.end()


async def refusal(folder: Path, kind: type[WhichbitsError], **changes: Any) -> WhichbitsError:
    with pytest.raises(kind) as refused:
        async with started(folder, **changes):
            pytest.fail("it must not start")
    assert kubectls() == []
    return refused.value


def kubectls() -> list[int]:
    """Return the pids of the proxies that this process started, by way of a leash, and that still run."""
    return [child.pid for child in psutil.Process().children(recursive=True) if "kubectl" in child.name()]


async def test_traffic_enters_by_the_service_and_each_pod_is_observed(tmp_path: Path, cluster: Cluster) -> None:
    cluster.pods[0].log = "vLLM API server version 0.11.0\nready\n"
    cluster.pods[0].args = ("--api-key=sk-1", "--max-num-batched-tokens=8192")
    async with started(tmp_path, arm={"replicas": 2}, context="double") as running:
        (endpoint,) = running.endpoints
        scrapes = [(await replica.control.scrape()).text for replica in running.replicas]
        first, second = running.records

    assert (endpoint.host, endpoint.port, endpoint.model, endpoint.replica) == ("127.0.0.1", 9, "qwen3", None)
    assert [text.splitlines()[0] for text in scrapes] == ["# vllm-7w92m", "# vllm-pm7wp"]
    assert first.command == ("--model=Qwen/Qwen3-14B", "--api-key=***", "--max-num-batched-tokens=8192")
    assert first.environment == {"VLLM_SERVER_DEV_MODE": "1"}
    assert {key: fact.value for key, fact in first.facts.items()} == {
        "first_line": "vLLM API server version 0.11.0",
        "running": "3.0",
        "image": "docker.io/vllm/vllm-openai:v0.11.0",
        "image_id": "docker.io/vllm/vllm-openai@sha256:1234",
        "node": "a100-002",
        "gpus": 1,
        "restarts": 0,
    }
    assert first.log is not None
    assert (tmp_path / "run" / first.log).read_text() == cluster.pods[0].log
    assert second.replica == "vllm-pm7wp"
    assert "first_line" not in second.facts
    assert kubectls() == []


async def test_pods_that_come_and_go_are_told_and_followed(tmp_path: Path, cluster: Cluster) -> None:
    async with started(tmp_path, arm={"replicas": 2}) as running:
        assert await running.refresh() == ()

        cluster.pods[1:] = [FakePod("vllm-t9p25")]
        assert await running.refresh() == ("pod vllm-pm7wp is gone", "pod vllm-t9p25 is new")
        assert [replica.name for replica in running.replicas] == ["vllm-7w92m", "vllm-t9p25"]
        assert [record.replica for record in running.records] == ["vllm-7w92m", "vllm-pm7wp", "vllm-t9p25"]
        assert (await running.replicas[1].control.scrape()).text.startswith("# vllm-t9p25")

        cluster.pods[1].ready = False
        assert await running.refresh() == ("pod vllm-t9p25 is not ready any more",)
        assert [replica.name for replica in running.replicas] == ["vllm-7w92m"]

        cluster.pods[1] = FakePod("vllm-t9p25", uid="another", image="vllm/vllm-openai:v0.12.0")
        assert await running.refresh() == ("pod vllm-t9p25 was replaced by another of the same name",)
        assert running.records[-1].facts["image"].value == "vllm/vllm-openai:v0.12.0"
        assert await running.death() is None


async def test_a_new_pod_that_does_not_answer_yet_is_looked_at_again(tmp_path: Path, cluster: Cluster) -> None:
    async with started(tmp_path) as running:
        cluster.pods.append(FakePod("vllm-t9p25", backend="http://127.0.0.1:9"))
        assert await running.refresh() == (
            "pod vllm-t9p25 is new",
            "pod vllm-t9p25 is ready, but does not answer",
        )

        cluster.pods[-1].backend = None
        assert await running.refresh() == ()
        assert running.replicas[-1].name == running.records[-1].replica == "vllm-t9p25"


async def test_a_new_pod_that_is_another_arm_is_refused(tmp_path: Path, cluster: Cluster) -> None:
    async with started(tmp_path) as running:
        cluster.pods.append(FakePod("vllm-t9p25", image="vllm/vllm-openai:awq"))
        with pytest.raises(ArmMismatch, match="4 bits were loaded"):
            await running.refresh()


async def test_the_api_key_goes_with_the_traffic_and_not_to_the_cluster(
    tmp_path: Path, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def models(request: web.Request) -> web.Response:
        known = request.headers.get("Authorization") == "Bearer sk-1"
        return web.json_response({"data": [{"id": "told-with-a-key"}]} if known else {}, status=200 if known else 401)

    application = web.Application()
    application.router.add_get("/v1/models", models)
    monkeypatch.setenv("LLM_KEY", "sk-1")
    with serving(application) as url:
        service = {"service": SERVICE, "namespace": NAMESPACE, "port": 80, "url": f"{url}/v1"}
        arm = {"target": {"kubernetes": service, "api_key_variable": "LLM_KEY"}, "served_model_name": None}
        async with started(tmp_path, arm=arm) as running:
            (endpoint,) = running.endpoints

    assert (endpoint.model, endpoint.api_key) == ("told-with-a-key", "sk-1")
    assert cluster.authorizations == {None}


async def test_a_restarted_container_is_told_and_its_last_words_are_kept(tmp_path: Path, cluster: Cluster) -> None:
    async with started(tmp_path) as running:
        cluster.pods[0] = replace(
            cluster.pods[0],
            restarts=1,
            previous_log="RuntimeError: CUDA out of memory\n",
            terminated={"exitCode": 137, "reason": "OOMKilled"},
        )

        assert await running.refresh() == (
            "container vllm of pod vllm-7w92m restarted: count 0 → 1 (OOMKilled, exit code 137)",
        )
    kept = tmp_path / "run" / "logs" / "bf16-vllm-7w92m-until-restart-1.log"
    assert "CUDA out of memory" in kept.read_text()


async def test_a_service_without_pods_left_is_dead(tmp_path: Path, cluster: Cluster) -> None:
    async with started(tmp_path) as running:
        cluster.pods.clear()
        death = await running.death()

    assert death is not None
    assert (death.code, "no pod of it is ready any more" in death.what) == ("pods_not_ready", True)


async def test_a_proxy_that_ends_is_named(tmp_path: Path, cluster: Cluster) -> None:
    async with started(tmp_path) as running:
        for pid in kubectls():
            psutil.Process(pid).kill()
        with pytest.raises(ServerNotReady) as lost:
            await running.refresh()
        death = await running.death()

    assert death is not None
    assert (lost.value.code, death.code) == ("kubectl_proxy_ended", "kubectl_proxy_ended")


async def test_too_few_pods_and_what_the_others_wait_for(tmp_path: Path, cluster: Cluster) -> None:
    cluster.pods[1] = FakePod("vllm-pm7wp", ready=False, unscheduled="0/3 nodes have 1 free nvidia.com/gpu")
    refused = await refusal(tmp_path, ServerNotReady, arm={"replicas": 2})

    assert refused.code == "pods_not_ready"
    assert "1 of 2 pods ready" in refused.what
    assert "pod vllm-pm7wp: Unschedulable: 0/3 nodes have 1 free nvidia.com/gpu" in refused.why


async def test_a_pod_that_crashes_again_and_again_is_not_waited_for(tmp_path: Path, cluster: Cluster) -> None:
    cluster.pods[:] = [
        FakePod(
            "vllm-7w92m",
            ready=False,
            restarts=4,
            waiting={"reason": "CrashLoopBackOff", "message": "back-off 1m20s"},
            previous_log="loading\nValueError: No available memory for the cache blocks\nbye\n",
        )
    ]
    refused = await refusal(tmp_path, ServerNotReady, ready_seconds=3600)

    assert "CrashLoopBackOff: back-off 1m20s" in refused.why
    assert "ValueError: No available memory for the cache blocks" in refused.why


async def test_what_is_not_there(tmp_path: Path, cluster: Cluster) -> None:
    other_port = await refusal(tmp_path, BadInput, port=8000)
    cluster.selector = None
    no_selector = await refusal(tmp_path, BadInput)
    cluster.has_service = False
    no_service = await refusal(tmp_path, BadInput)
    no_context = await refusal(tmp_path, BadInput, context="prod")
    write_kubeconfig(cluster, current="")
    no_current = await refusal(tmp_path, BadInput)

    assert (other_port.code, "its ports are 80" in other_port.why) == ("service_port_absent", True)
    assert no_selector.code == "service_without_selector"
    assert no_service.code == "service_absent"
    assert (no_context.code, no_current.code) == ("kubectl_no_context", "kubectl_no_context")
    assert "prod" in no_context.what


async def test_without_kubectl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    assert (await refusal(tmp_path, BadInput)).code == "kubectl_missing"


@pytest.mark.parametrize("path", [f"/services/{SERVICE}", "/endpointslices", "/pods", "/log", "/proxy/health"])
async def test_a_right_that_the_user_lacks(tmp_path: Path, cluster: Cluster, path: str) -> None:
    cluster.forbidden = (path,)
    refused = await refusal(tmp_path, BadInput)

    assert refused.code == "kubernetes_forbidden"
    assert path in refused.what
    assert 'User "dev" cannot get path' in refused.why


async def test_a_cluster_that_does_not_answer(tmp_path: Path, cluster: Cluster) -> None:
    cluster.url = "http://127.0.0.1:9"
    write_kubeconfig(cluster)

    assert (await refusal(tmp_path, ServerNotReady)).code == "cluster_unreachable"


async def test_the_proxy_lets_nothing_else_through(tmp_path: Path, cluster: Cluster) -> None:
    async with started(tmp_path) as running:
        prefix = running.replicas[0].control.url.partition("/api/")[0]
        async with ControlClient(prefix) as others:
            assert await others.json("/api/v1/namespaces/serving/secrets") is None
            assert await others.json(f"/api/v1/namespaces/serving/services/{SERVICE}") is not None

    assert not any("secrets" in path for path in cluster.asked)


async def test_a_kubectl_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "kubectl").write_text("#!/bin/sh\nexec sleep 60\n")
    (tmp_path / "kubectl").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr("whichbits.serve.kubernetes.proxy._CONFIG_SECONDS", 0.2)

    assert (await refusal(tmp_path, BadInput)).code == "kubectl_silent"
