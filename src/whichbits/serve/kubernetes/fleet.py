"""The pods behind a Kubernetes Service: found, waited for, observed one by one, and driven through the Service."""

from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

from whichbits.errors import ServerNotReady, WhichbitsError
from whichbits.record.schema import ReplicaRecord
from whichbits.serve.attached import api_key, served_model
from whichbits.serve.claim import insist_on_the_claim
from whichbits.serve.endpoint.control import ControlClient
from whichbits.serve.endpoint.ready import hangs, wait_until_healthy
from whichbits.serve.endpoint.replica import Endpoint, Replica
from whichbits.serve.kubernetes.api import Api
from whichbits.serve.kubernetes.cluster import Cluster, find
from whichbits.serve.kubernetes.entrance import entrance
from whichbits.serve.kubernetes.pods import Pod, changes
from whichbits.serve.kubernetes.proxy import KubectlProxy, insist_on_kubectl
from whichbits.serve.kubernetes.waiting import not_ready, ready_pods
from whichbits.serve.order import Order
from whichbits.study.arm import KubernetesService, ServersThatRun

_PATIENCE_SECONDS = 10.0


class KubernetesFleet:
    """The pods of the Service that an arm's ``target`` names; none of them is ever changed."""

    def __init__(self, order: Order, target: ServersThatRun, kubernetes: KubernetesService) -> None:
        """Reach for nothing yet."""
        self._order = order
        self._target = target
        self._kubernetes = kubernetes
        self._proxy: KubectlProxy | None = None
        self._api: Api | None = None
        self._cluster: Cluster | None = None
        self._endpoint: Endpoint | None = None
        self._pods: dict[str, Pod] = {}
        self._replicas: dict[str, Replica] = {}
        self._records: list[ReplicaRecord] = []

    async def start(self) -> None:
        """Find the Service, wait for as many ready pods as the arm has replicas, and ask each who it is.

        Raises:
            ServerNotReady: the pods do not become ready, or kubectl or the cluster does not answer.
            BadInput: there is no kubectl, no such Service, no right to ask, or no way in.
        """
        await insist_on_kubectl(self._kubernetes)
        self._cluster = await self._reach()
        self._pods = await ready_pods(self._cluster, self._order)
        self._endpoint = await self._entrance(self._cluster)
        for pod in self._pods.values():
            if pod.ready:
                await self._observe(self._cluster, pod)

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        """Return the Service: it chooses the pod, once a connection."""
        return () if self._endpoint is None else (self._endpoint,)

    @property
    def replicas(self) -> tuple[Replica, ...]:
        """Return the pods that are ready now."""
        return tuple(self._replicas.values())

    @property
    def records(self) -> tuple[ReplicaRecord, ...]:
        """Return what was found of every pod that was ever ready, in the order of their coming."""
        return tuple(self._records)

    async def refresh(self) -> tuple[str, ...]:
        """Look again which pods serve; return who came, went, restarted or changed its image.

        Raises:
            ArmMismatch: a pod that came is not the arm.
        """
        cluster = self._insist_on_start()
        before, self._pods = self._pods, await cluster.look()
        for name, was in before.items():
            await self._follow(cluster, was, self._pods.get(name))
        new = [pod for pod in self._pods.values() if pod.ready and pod.name not in self._replicas]
        known = len(self._records)
        silent = [pod.name for pod in new if not await self._answers(cluster, pod)]
        insist_on_the_claim(self._order, self._records[known:])
        return (*changes(before, self._pods), *map(_silent, silent))

    async def death(self) -> ServerNotReady | None:
        """Return why the Service no longer serves; one pod that is left is enough to go on."""
        cluster = self._insist_on_start()
        if (ended := cluster.proxy.death()) is not None:
            return ended
        try:
            pods = await cluster.look()
        except ServerNotReady as silent:
            return silent
        if not any(pod.ready for pod in pods.values()):
            return await not_ready(cluster, self._order.engine, pods, "no pod of it is ready any more")
        return await self._entrance_hangs()

    async def end(self) -> None:
        """Keep the pods' logs as they are now, and end kubectl; the pods go on."""
        try:
            if self._cluster is not None:
                await self._keep_logs(self._cluster)
        finally:
            for replica in self._replicas.values():
                await replica.control.close()
            if self._api is not None:
                await self._api.close()
            if self._proxy is not None:
                await self._proxy.stop()

    def _insist_on_start(self) -> Cluster:
        if self._cluster is None:
            message = "the fleet was not started"
            raise RuntimeError(message)
        return self._cluster

    async def _reach(self) -> Cluster:
        # Both are held from the start on, so that ``end`` finds them whatever comes in between.
        self._proxy = KubectlProxy(self._kubernetes, self._log_path("kubectl"))
        self._api = Api(await self._proxy.ready(), self._kubernetes)
        return await find(self._kubernetes, self._proxy, self._api)

    async def _entrance(self, cluster: Cluster) -> Endpoint:
        key = api_key(self._target)
        pods = [pod for pod in self._pods.values() if pod.ready]
        health = self._order.engine.health_path
        url = await entrance(self._kubernetes, cluster.service, cluster.port, pods, health)
        async with ControlClient(url, api_key=key) as control:
            return Endpoint.of(url, await served_model(self._order, control), None, key)

    async def _entrance_hangs(self) -> ServerNotReady | None:
        where = self.endpoints[0]
        scheme = "https" if where.tls else "http"
        prefix = where.path.removesuffix("/v1/completions")
        health = f"{scheme}://{where.host}:{where.port}{prefix}{self._order.engine.health_path}"
        if self._kubernetes.url is not None or await wait_until_healthy(health, within_seconds=_PATIENCE_SECONDS):
            return None  # an ingress need not lead to the health check
        return hangs(f"{health} does not answer 200, though pods are ready", "look at what leads to the Service")

    async def _observe(self, cluster: Cluster, pod: Pod) -> None:
        """Add a pod that is ready: keep its log, ask who it is."""
        port = pod.port or self._kubernetes.port
        engine = self._order.engine
        await cluster.api.insist_on_pod_access(pod.name, port, engine.health_path)
        # No API key here: kubectl would take it for the user's credential to the cluster.
        control = ControlClient(cluster.api.pod_url(pod.name, port))
        log, text = await self._keep_log(cluster, pod)
        try:
            facts = await engine.ask_facts(control) | engine.read_facts(text) | pod.facts()
            replica = Replica(pod.name, control, None if log is None else str(log), await control.has_metrics())
        except ServerNotReady:
            await control.close()
            raise
        self._replicas[pod.name] = replica
        self._records.append(
            ReplicaRecord(
                replica=pod.name,
                command=pod.command,
                environment=pod.environment,
                url=f"http://{pod.address}:{port}",
                ready_seconds=None,
                log=None if log is None else str(log.relative_to(self._order.folder)),
                facts=facts,
            )
        )

    async def _follow(self, cluster: Cluster, was: Pod, now: Pod | None) -> None:
        """Let go of a pod that left, and keep the last words of a container that was restarted."""
        if was.name in self._replicas and (now is None or not now.ready or now.uid != was.uid):
            await self._replicas.pop(was.name).control.close()
        if now is not None and now.uid == was.uid and now.restarts > was.restarts:
            await self._keep_log(cluster, now, previous=True)

    async def _answers(self, cluster: Cluster, pod: Pod) -> bool:
        """Add a pod that came; False if it is gone again by now, or not there yet: the next look decides."""
        try:
            await self._observe(cluster, pod)
        except ServerNotReady as silent:
            if (ended := await cluster.proxy.death_soon()) is not None:
                raise ended from silent
            return False
        return True

    async def _keep_logs(self, cluster: Cluster) -> None:
        # An arm must end though the cluster is gone; the logs from its start are kept already.
        with suppress(WhichbitsError):
            for name in self._replicas:
                await self._keep_log(cluster, self._pods[name])

    async def _keep_log(self, cluster: Cluster, pod: Pod, *, previous: bool = False) -> tuple[Path | None, str]:
        """Write the pod's log to the run's folder; return where, and its text."""
        log = await cluster.api.log(pod.name, pod.container, previous=previous)
        if log is None:
            return None, ""
        path = self._log_path(f"{pod.name}-until-restart-{pod.restarts}" if previous else pod.name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(log)
        return path, log.decode(errors="replace")

    def _log_path(self, name: str) -> Path:
        return self._order.folder / "logs" / f"{quote(self._order.name, safe='')}-{name}.log"


def _silent(name: str) -> str:
    return f"pod {name} is ready, but does not answer"
