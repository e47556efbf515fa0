"""One Service in one cluster: found once, looked at again and again."""

from dataclasses import dataclass

from whichbits.errors import BadInput, ServerNotReady
from whichbits.serve.kubernetes.api import Api
from whichbits.serve.kubernetes.objects import Service, ServicePort
from whichbits.serve.kubernetes.pods import Pod, pods_of
from whichbits.serve.kubernetes.proxy import KubectlProxy
from whichbits.study.arm import KubernetesService


@dataclass(frozen=True)
class Cluster:
    """What stays the same as long as an arm is served."""

    proxy: KubectlProxy
    api: Api
    target: KubernetesService
    service: Service
    port: ServicePort
    selector: dict[str, str]

    async def look(self) -> dict[str, Pod]:
        """Return the Service's pods by name, as they are now.

        Raises:
            ServerNotReady: kubectl has ended, or the cluster does not answer.
            BadInput: the user may not ask.
        """
        try:
            slices = await self.api.slices()
            objects = await self.api.pods(self.selector)
        except ServerNotReady as silent:
            raise await self.proxy.death_soon() or silent from silent
        return pods_of(self.port, slices, objects)


async def find(target: KubernetesService, proxy: KubectlProxy, api: Api) -> Cluster:
    """Return the cluster with the Service that ``target`` names. Raises BadInput if it is not there or not usable."""
    service = await api.service()
    if service is None:
        raise _absent(target)
    if not service.spec.selector:
        raise _selects_nothing(target)
    return Cluster(proxy, api, target, service, _port(target, service), service.spec.selector)


def _port(target: KubernetesService, service: Service) -> ServicePort:
    ports = service.spec.ports or []
    for port in ports:
        if port.port == target.port:
            return port
    raise BadInput(
        "service_port_absent",
        f"the Service {target.service} has no port {target.port}",
        why=f"its ports are {', '.join(str(port.port) for port in ports) or 'none'}; the pods' own may differ",
        fix="set target.kubernetes.port to one of them",
    )


def _absent(target: KubernetesService) -> BadInput:
    return BadInput(
        "service_absent",
        f"there is no Service {target.service} in the namespace {target.namespace}",
        why="it is misspelt, lives in another namespace or cluster, or was never applied",
        fix="`kubectl get services --all-namespaces`; `whichbits run STUDY --print-manifests` writes one for each arm",
    )


def _selects_nothing(target: KubernetesService) -> BadInput:
    return BadInput(
        "service_without_selector",
        f"the Service {target.service} selects no pods",
        why="it is a name for something else (ExternalName), or its endpoints were made by hand or by a gateway",
        fix="name the Service that selects the pods, and where traffic enters as target.kubernetes.url; or target.urls",
    )
