"""Waiting for pods to become ready, and saying what those that do not suffer from."""

import asyncio
import time

from whichbits.errors import ServerNotReady
from whichbits.language.amounts import amount
from whichbits.serve.endpoint.ready import last_lines
from whichbits.serve.engine import Engine
from whichbits.serve.kubernetes.cluster import Cluster
from whichbits.serve.kubernetes.pods import Pod
from whichbits.serve.order import Order

_LOOK_SECONDS = 1.0
_NOBODY_SECONDS = 30.0
"""Pods appear within seconds of their Deployment; if none does, the wait for them to load makes no sense."""
_QUOTED_LINES = 5


async def ready_pods(cluster: Cluster, order: Order) -> dict[str, Pod]:
    """Wait until as many pods are ready as the arm has replicas, and return all pods by name.

    Raises:
        ServerNotReady: they are not in time, or one cannot become so.
    """
    began = time.monotonic()
    wanted = order.arm.replicas
    while True:
        pods = await cluster.look()
        ready = sum(pod.ready for pod in pods.values())
        if ready >= wanted:
            return pods
        patience = order.limits.ready_seconds if pods else min(_NOBODY_SECONDS, order.limits.ready_seconds)
        if any(pod.hopeless for pod in pods.values()) or time.monotonic() - began > patience:
            raise await not_ready(cluster, order.engine, pods, f"{ready} of {amount(wanted, 'pod')} ready")
        await asyncio.sleep(_LOOK_SECONDS)


async def not_ready(cluster: Cluster, engine: Engine, pods: dict[str, Pod], what: str) -> ServerNotReady:
    """Return the error for a Service that has too few pods, with what each of the others waits for."""
    target = cluster.target
    return ServerNotReady(
        "pods_not_ready",
        f"the Service {target.service} in {target.namespace}: {what}",
        why=await _trouble(cluster, engine, pods),
        fix=f"`kubectl describe pods --namespace={target.namespace}`; "
        "raise limits.ready_seconds if they were still loading",
    )


async def _trouble(cluster: Cluster, engine: Engine, pods: dict[str, Pod]) -> str:
    if not pods:
        return f"no pod has the labels that it selects: {cluster.selector}"
    waiting = [pod for pod in pods.values() if not pod.ready]
    if not waiting:
        return "there are no more pods than these"
    return "; ".join([f"pod {pod.name}: {await _cause(cluster, engine, pod)}" for pod in waiting])


async def _cause(cluster: Cluster, engine: Engine, pod: Pod) -> str:
    """Return what the cluster says of the pod, and its log's own cause if that has one."""
    log = await cluster.api.log(pod.name, pod.container, previous=pod.restarts > 0)
    text = (log or b"").decode(errors="replace")
    said = engine.failure(text) or "\n    ".join(last_lines(text, _QUOTED_LINES))
    known = (pod.trouble, pod.last_end, f"its log says: {said}" if said else None)
    return ", ".join(part for part in known if part) or "not ready, and it says nothing"
