"""The pods of a Service at one moment, and what changed between two moments, in words."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from whichbits.record.schema import Fact
from whichbits.serve.kubernetes.objects import Container, ContainerStatus, EndpointSlice, PodObject, ServicePort
from whichbits.serve.secrets import command_without_secrets, without_secrets

_GPU = re.compile(r"(^|/|\.)gpu(\.|$)|/mig-")
"""Such as nvidia.com/gpu, amd.com/gpu, gpu.intel.com/i915, nvidia.com/mig-1g.10gb."""


@dataclass(frozen=True)
class Pod:
    """One pod as it is now; ``port`` is the one that the Service leads to, None while it leads to none of it."""

    name: str
    uid: str
    ready: bool
    port: int | None
    address: str | None
    node: str | None
    node_address: str | None
    container: str
    image: str
    image_id: str
    command: tuple[str, ...]
    environment: dict[str, str]
    gpus: int | None
    restarts: int
    last_end: str | None
    """How the container's predecessor ended; None if it had none."""
    trouble: str | None
    """Why it does not run; None if it does, or nobody knows."""
    hopeless: bool
    """Its trouble does not go away by waiting."""

    def facts(self) -> dict[str, Fact]:
        """Return what the cluster knows of it; what it does not know is absent."""
        known = {
            "image": self.image,
            "image_id": self.image_id or None,
            "node": self.node,
            "gpus": self.gpus,
            "restarts": self.restarts,
        }
        source = f"pod {self.name}"
        return {key: Fact(value, source) for key, value in known.items() if value is not None}


_HOPELESS = frozenset(
    {"CrashLoopBackOff", "ImagePullBackOff", "ErrImagePull", "InvalidImageName", "CreateContainerConfigError"}
)


def pods_of(port: ServicePort, slices: Iterable[EndpointSlice], objects: Iterable[PodObject]) -> dict[str, Pod]:
    """Return the pods by name: ready are those to which the Service's ``port`` leads."""
    ready = dict(_ready(port, slices))
    return {each.metadata.name: _pod(each, port, ready.get(each.metadata.name)) for each in objects}


def changes(before: Mapping[str, Pod], now: Mapping[str, Pod]) -> tuple[str, ...]:
    """Return what changed, a sentence each, pod by pod in the order of their names."""
    return tuple(
        sentence for name in sorted({*before, *now}) for sentence in _change(name, before.get(name), now.get(name))
    )


def _change(name: str, was: Pod | None, now: Pod | None) -> Iterator[str]:
    if now is None:
        yield f"pod {name} is gone"
    elif was is None:
        yield f"pod {name} is new{'' if now.ready else ', not ready'}"
    elif was.uid != now.uid:
        yield f"pod {name} was replaced by another of the same name"
    else:
        yield from _change_of_one(was, now)


def _change_of_one(was: Pod, now: Pod) -> Iterator[str]:
    if was.restarts != now.restarts:
        ended = f" ({now.last_end})" if now.last_end else ""
        yield f"container {now.container} of pod {now.name} restarted: count {was.restarts} → {now.restarts}{ended}"
    if was.image != now.image:
        yield f"pod {now.name} has another image: {was.image} → {now.image}"
    if was.ready != now.ready:
        yield f"pod {now.name} is ready" if now.ready else f"pod {now.name} is not ready any more"


def _ready(port: ServicePort, slices: Iterable[EndpointSlice]) -> Iterator[tuple[str, int]]:
    """Yield pods that get traffic and the port at which each listens: a named port may differ from pod to pod."""
    for each in slices:
        numbers = [found.port for found in each.ports or () if (found.name or "") == (port.name or "")]
        for endpoint in each.endpoints or ():
            pod = endpoint.target_ref
            if pod is not None and pod.kind == "Pod" and endpoint.conditions.ready is not False and numbers:
                number = numbers[0]
                if number is not None:
                    yield pod.name, number


def _pod(each: PodObject, of_service: ServicePort, port: int | None) -> Pod:
    container = _container(each, of_service)
    status = _status(each, container)
    last = status.last_state.terminated
    reason, trouble = _trouble(each, status)
    return Pod(
        name=each.metadata.name,
        uid=each.metadata.uid,
        ready=port is not None,
        port=port,
        address=each.status.pod_ip,
        node=each.spec.node_name,
        node_address=each.status.host_ip,
        container=container.name,
        image=container.image,
        image_id=status.image_id,
        command=command_without_secrets((*(container.command or ()), *(container.args or ()))),
        environment=without_secrets({v.name: v.value for v in container.env or () if v.value is not None}),
        gpus=_gpus(container),
        restarts=status.restart_count,
        last_end=None if last is None else f"{last.reason or 'ended'}, exit code {last.exit_code}",
        trouble=trouble,
        hopeless=reason in _HOPELESS,
    )


def _container(each: PodObject, port: ServicePort) -> Container:
    """Return the container that declares the port's target, else the first: sidecars come after by custom."""
    target = port.port if port.target_port is None else port.target_port
    declared = (c for c in each.spec.containers if any(target in (p.name, p.container_port) for p in c.ports or ()))
    return next(declared, each.spec.containers[0])


def _status(each: PodObject, container: Container) -> ContainerStatus:
    statuses = each.status.container_statuses or ()
    return next((found for found in statuses if found.name == container.name), ContainerStatus(name=container.name))


def _trouble(each: PodObject, status: ContainerStatus) -> tuple[str, str | None]:
    """Return the reason's name and what a person should read."""
    if (waiting := status.state.waiting) is not None:
        return waiting.reason, f"{waiting.reason}: {waiting.message}".rstrip(": ")
    for condition in each.status.conditions or ():
        if condition.type == "PodScheduled" and condition.status == "False":
            return condition.reason, f"{condition.reason}: {condition.message}".rstrip(": ")
    return "", None


def _gpus(container: Container) -> int | None:
    counts = [int(count) for kind, count in (container.resources.limits or {}).items() if _GPU.search(kind)]
    return sum(counts) if counts else None
