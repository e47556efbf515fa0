"""Servers that whichbits starts for an arm, and ends with it."""

import asyncio
from dataclasses import dataclass, replace
from urllib.parse import quote

from whichbits.errors import ServerNotReady
from whichbits.record.profiles import written_folder
from whichbits.record.schema import ReplicaRecord
from whichbits.serve.endpoint.control import ControlClient
from whichbits.serve.endpoint.ready import cause_of_death, wait_until_ready
from whichbits.serve.endpoint.replica import Endpoint, Replica
from whichbits.serve.engine import Launch, Place
from whichbits.serve.gpus import places
from whichbits.serve.neighbours import told_of_neighbours
from whichbits.serve.order import Order
from whichbits.serve.process.server import ServerProcess
from whichbits.serve.secrets import command_without_secrets, without_secrets

_HOST = "127.0.0.1"


@dataclass(frozen=True)
class _Server:
    """One started server."""

    name: str
    place: Place
    launch: Launch
    environment: dict[str, str]
    process: ServerProcess
    control: ControlClient

    async def end(self) -> None:
        try:
            await self.process.stop()
        finally:
            await self.control.close()


class LaunchedFleet:
    """The servers of one arm on this machine; create it, ``start`` it, and ``end`` it in every case."""

    def __init__(self, order: Order) -> None:
        """Start nothing yet."""
        self._order = order
        self._servers: list[_Server] = []
        self._records: tuple[ReplicaRecord, ...] = ()

    async def start(self) -> None:
        """Start every replica and wait until all are ready.

        Replicas that share a GPU start one after the other if their engine measures free memory meanwhile: while
        its neighbour takes some, it comes to a wrong pool size, or refuses to go on.

        Raises:
            ServerNotReady: one of them died or was too slow.
        """
        order, found = self._order, places(self._order.arm, _HOST)
        shared = any(place.servers_per_gpu > 1 for place in found)
        if shared and order.engine.measures_free_memory(order.arm):
            ready = [await self._ready(self._launch(index, place)) for index, place in enumerate(found)]
            self._records = told_of_neighbours(ready, order.beside, on_the_card=False)
        else:
            ready = await self._all_ready([self._launch(index, place) for index, place in enumerate(found)])
            beside = order.beside + len(found) - 1
            self._records = told_of_neighbours(ready, beside, on_the_card=shared or order.beside > 0)

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        """Return one a server."""
        model = self._order.engine.served_model(self._order.arm)
        return tuple(Endpoint(each.place.host, each.place.port, model, each.name) for each in self._servers)

    @property
    def replicas(self) -> tuple[Replica, ...]:
        """Return the started servers."""
        return tuple(Replica(each.name, each.control, str(each.process.log)) for each in self._servers)

    @property
    def records(self) -> tuple[ReplicaRecord, ...]:
        """Return how the servers came up; empty before they did."""
        return self._records

    async def refresh(self) -> tuple[str, ...]:
        """Nothing comes or goes that ``death`` would not tell."""
        return ()

    async def death(self) -> ServerNotReady | None:
        """Return what the first server that ended or hangs died of, in its log's own words."""
        for server in self._servers:
            cause = await cause_of_death(server.process, self._health_url(server), self._order.engine.failure)
            if cause is not None:
                return self._about(server, cause)
        return None

    async def end(self) -> None:
        """Stop every server; may be called again."""
        # A task group waits for all of its tasks even if it is cancelled meanwhile.
        async with asyncio.TaskGroup() as group:
            for server in self._servers:
                group.create_task(server.end())

    def _launch(self, index: int, place: Place) -> _Server:
        order = self._order
        if order.profiled:
            place = replace(place, trace_folder=written_folder(order.folder, order.name, str(index)))
        launch = order.engine.command(order.arm, order.prepared, place)
        environment = {**launch.environment, **order.arm.environment}
        log = order.folder / "logs" / f"{quote(order.name, safe='')}-{index}.log"
        process = ServerProcess(launch.argv, environment, log)
        control = ControlClient(f"http://{place.host}:{place.port}")
        server = _Server(str(index), place, launch, environment, process, control)
        self._servers.append(server)
        return server

    async def _all_ready(self, servers: list[_Server]) -> list[ReplicaRecord]:
        """Wait for every server at once; the first that fails ends the wait."""
        try:
            async with asyncio.TaskGroup() as group:
                waits = [group.create_task(self._ready(server)) for server in servers]
        except ExceptionGroup as failures:
            raise failures.exceptions[0] from None
        return [wait.result() for wait in waits]

    async def _ready(self, server: _Server) -> ReplicaRecord:
        order = self._order
        try:
            ready_seconds = await wait_until_ready(
                server.process,
                self._health_url(server),
                within_seconds=order.limits.ready_seconds,
                failure=order.engine.failure,
            )
        except ServerNotReady as failure:
            raise self._about(server, failure) from failure
        return ReplicaRecord(
            replica=server.name,
            command=command_without_secrets(server.launch.argv),
            environment=without_secrets(server.environment),
            url=server.control.url,
            ready_seconds=ready_seconds,
            log=str(server.process.log.relative_to(order.folder)),
            facts=server.launch.facts
            | await order.engine.ask_facts(server.control)
            | order.engine.read_facts(server.process.log_text()),
        )

    def _about(self, server: _Server, failure: ServerNotReady) -> ServerNotReady:
        """Name the replica, where there are several."""
        return failure.about(f"replica {server.name}") if self._order.arm.replicas > 1 else failure

    def _health_url(self, server: _Server) -> str:
        return server.control.url + self._order.engine.health_path
