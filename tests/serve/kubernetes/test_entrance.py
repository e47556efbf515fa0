"""Traffic enters where the Service chooses the pod, or the study is refused."""

from collections.abc import Iterator

import msgspec
import pytest
from aiohttp import web

from tests.serve.kubernetes.cluster import SELECTOR, FakePod, serving
from whichbits.errors import BadInput
from whichbits.serve.kubernetes.entrance import entrance
from whichbits.serve.kubernetes.objects import (
    Ingress,
    LoadBalancer,
    PodObject,
    Service,
    ServicePort,
    ServiceSpec,
    ServiceStatus,
)
from whichbits.serve.kubernetes.pods import Pod, pods_of
from whichbits.study.arm import KubernetesService

TARGET = KubernetesService(service="vllm", namespace="serving", port=80)
NOWHERE = ServicePort(port=9)


@pytest.fixture(autouse=True)
def outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)


@pytest.fixture
def listening() -> Iterator[int]:
    """The port of something that answers its health check."""
    application = web.Application()

    async def health(_: web.Request) -> web.Response:
        return web.Response()

    application.router.add_get("/health", health)
    with serving(application) as url:
        yield int(url.rpartition(":")[2])


def service(cluster_ip: str | None = None, balancer: Ingress | None = None) -> Service:
    status = ServiceStatus(load_balancer=LoadBalancer(ingress=[balancer] if balancer else None))
    return Service(spec=ServiceSpec(selector=SELECTOR, cluster_ip=cluster_ip), status=status)


def pods() -> list[Pod]:
    found = msgspec.convert(FakePod("vllm-7w92m").as_object(), PodObject)
    return list(pods_of(NOWHERE, [], [found]).values())


async def where(service: Service, port: ServicePort, target: KubernetesService = TARGET) -> str:
    return await entrance(target, service, port, pods(), "/health")


async def test_the_studys_own_address_is_taken_at_its_word() -> None:
    target = TARGET.model_copy(update={"url": "https://llm.example.org/qwen/v1"})

    assert await where(service(), NOWHERE, target) == "https://llm.example.org/qwen"


async def test_inside_the_cluster_it_is_the_services_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")

    assert await where(service(), NOWHERE) == "http://vllm.serving.svc:80"


async def test_outside_it_is_the_first_address_that_answers(listening: int) -> None:
    balanced = service(balancer=Ingress(hostname="localhost"))

    assert await where(balanced, ServicePort(port=listening)) == f"http://localhost:{listening}"
    assert await where(service(), ServicePort(port=9, node_port=listening)) == f"http://127.0.0.1:{listening}"
    assert await where(service("127.0.0.1"), ServicePort(port=listening)) == f"http://127.0.0.1:{listening}"


async def test_no_way_in_is_refused_and_port_forward_is_no_way() -> None:
    with pytest.raises(BadInput) as refused:
        await where(service("None"), NOWHERE)

    assert refused.value.code == "service_not_reachable"
    assert "tried: no address" in refused.value.what
    assert "port-forward service/vllm` would not do" in refused.value.why
