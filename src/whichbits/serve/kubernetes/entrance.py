"""Where traffic enters a Service, so that the Service itself chooses the pod."""

from collections.abc import Iterable, Iterator

from whichbits.errors import BadInput
from whichbits.serve.endpoint.ready import wait_until_healthy
from whichbits.serve.kubernetes.objects import Service, ServicePort
from whichbits.serve.kubernetes.pods import Pod
from whichbits.serve.kubernetes.proxy import inside_cluster
from whichbits.study.arm import KubernetesService

_PATIENCE_SECONDS = 2.0
_NO_ADDRESS = "None"
"""What a headless Service has for an address."""


async def entrance(
    target: KubernetesService, service: Service, port: ServicePort, pods: Iterable[Pod], health_path: str
) -> str:
    """Return the address at which requests go through the Service.

    The study's own ``url`` is taken at its word; inside the cluster it is the Service's name. Elsewhere it is the
    first of the load balancer's, a node's and the cluster's address that answers ``health_path``.

    Raises:
        BadInput: none of them does.
    """
    if target.url is not None:
        return target.url.rstrip("/").removesuffix("/v1")
    if inside_cluster() and target.context is None:
        return f"http://{target.service}.{target.namespace}.svc:{target.port}"
    tried: list[str] = []
    for url in _outside(service, port, pods):
        if await wait_until_healthy(url + health_path, within_seconds=_PATIENCE_SECONDS):
            return url
        tried.append(url)
    raise _not_reachable(target, tried)


def _outside(service: Service, port: ServicePort, pods: Iterable[Pod]) -> Iterator[str]:
    for ingress in service.status.load_balancer.ingress or ():
        if address := ingress.hostname or ingress.ip:
            yield f"http://{_bracketed(address)}:{port.port}"
    if port.node_port:
        for node in sorted({pod.node_address for pod in pods if pod.node_address}):
            yield f"http://{_bracketed(node)}:{port.node_port}"
    if (cluster_ip := service.spec.cluster_ip) and cluster_ip != _NO_ADDRESS:
        yield f"http://{_bracketed(cluster_ip)}:{port.port}"


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _not_reachable(target: KubernetesService, tried: list[str]) -> BadInput:
    return BadInput(
        "service_not_reachable",
        f"traffic cannot enter the Service {target.service} from here; tried: {', '.join(tried) or 'no address'}",
        why=f"it is for use inside its cluster; `kubectl port-forward service/{target.service}` would not do: "
        "it goes to one pod only, past the Service",
        fix="run inside the cluster (`whichbits run STUDY --print-manifests --driver-image IMAGE` writes the Job), "
        "expose it as NodePort or LoadBalancer, or set target.kubernetes.url",
    )
