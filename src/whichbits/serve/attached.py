"""Servers that somebody else started: found, asked who they are, driven, and left alone."""

import os
from dataclasses import dataclass
from pathlib import Path

from whichbits.errors import BadInput, ServerNotReady
from whichbits.record.schema import ReplicaRecord
from whichbits.serve.endpoint.control import ControlClient
from whichbits.serve.endpoint.ready import hangs, why_unhealthy
from whichbits.serve.endpoint.replica import Endpoint, Replica
from whichbits.serve.endpoint.way import way_facts, way_to
from whichbits.serve.order import Order
from whichbits.study.arm import ServersThatRun

_PATIENCE_SECONDS = 10.0
_ASKING_SECONDS = 1.0
"""Whoever asks at a prompt would rather be told at once; a server that is slow to answer is waited for anyway."""


@dataclass(frozen=True)
class _Server:
    name: str
    url: str
    log: Path | None
    control: ControlClient
    endpoint: Endpoint
    has_metrics: bool


class AttachedFleet:
    """The running servers that an arm's ``target`` names by address."""

    def __init__(self, order: Order, target: ServersThatRun) -> None:
        """Reach for nothing yet."""
        self._order = order
        self._target = target
        self._controls: list[ControlClient] = []
        self._servers: list[_Server] = []
        self._records: list[ReplicaRecord] = []

    async def start(self) -> None:
        """Find every server and ask it who it is.

        Raises:
            ServerNotReady: one does not answer.
            BadInput: the API key is not there, a log cannot be read, or the model's name cannot be told.
        """
        key = api_key(self._target)
        for index, url in enumerate(self._target.urls):
            server = await self._found(str(index), _base(url), key)
            self._servers.append(server)
            self._records.append(await self._record(server))
        self._insist_on_one_model()

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        """Return one a server."""
        return tuple(server.endpoint for server in self._servers)

    @property
    def replicas(self) -> tuple[Replica, ...]:
        """Return the servers as named."""
        return tuple(
            Replica(
                each.name,
                each.control,
                str(each.log) if each.log else None,
                each.has_metrics,
                self._target.api_key_variable,
                each.endpoint.way,
            )
            for each in self._servers
        )

    @property
    def records(self) -> tuple[ReplicaRecord, ...]:
        """Return what each server said of itself."""
        return tuple(self._records)

    async def refresh(self) -> tuple[str, ...]:
        """Addresses do not change."""
        return ()

    async def death(self) -> ServerNotReady | None:
        """Return which server no longer answers."""
        for server in self._servers:
            health = server.url + self._order.engine.health_path
            reason = await why_unhealthy(
                health,
                within_seconds=_PATIENCE_SECONDS,
                api_key=server.endpoint.api_key,
                way=server.endpoint.way,
            )
            if reason is not None:
                return hangs(f"{health}: {reason}", "look at the server: whichbits did not start it")
        return None

    async def end(self) -> None:
        """Drop the control connections; the servers go on."""
        for control in self._controls:
            await control.close()

    async def _found(self, name: str, url: str, key: str | None) -> _Server:
        health = url + self._order.engine.health_path
        way = way_to(url, self._target)
        reason = await why_unhealthy(health, within_seconds=_PATIENCE_SECONDS, api_key=key, way=way)
        if reason is not None:
            raise _absent(health, reason)
        control = ControlClient(url, api_key=key, way=way)
        self._controls.append(control)
        log = Path(self._target.logs[int(name)]) if self._target.logs else None
        endpoint = Endpoint.of(url, await served_model(self._order, control), name, key, way)
        return _Server(name, url, log, control, endpoint, await control.has_metrics())

    def _insist_on_one_model(self) -> None:
        models = {server.endpoint.model: server.url for server in self._servers}
        if len(models) > 1:
            each = ", ".join(f"{url} {name}" for name, url in models.items())
            raise BadInput(
                "replicas_differ",
                f"the replicas of arm {self._order.name!r} serve different models: {each}",
                why="requests would be spread over them, and their times mixed",
                fix="name replicas of one model in target.urls, or the model that all have in served_model_name",
            )

    async def _record(self, server: _Server) -> ReplicaRecord:
        engine = self._order.engine
        facts = await engine.ask_facts(server.control)
        if server.log is not None:
            facts |= engine.read_facts(_log_text(server.log))
        return ReplicaRecord(
            replica=server.name,
            command=(),
            environment={},
            url=server.url,
            ready_seconds=None,
            log=None if server.log is None else str(server.log),
            facts={**facts, **way_facts(server.url, self._target)},
        )


async def served_model(order: Order, control: ControlClient) -> str:
    """Return the name that requests must carry: the arm's, or the only one that the server has.

    Raises:
        BadInput: the server has several, and the arm's ``served_model_name`` does not choose one.
    """
    if order.arm.served_model_name is not None:
        return order.arm.served_model_name
    names = await control.models()
    if order.arm.model in names:
        return order.arm.model
    if len(names) == 1:
        return names[0]
    raise BadInput(
        "served_model_unclear",
        f"{control.url} serves {len(names)} models: {', '.join(names) or 'none'}",
        why="requests must name one, and neither the arm's model nor its served_model_name is among them",
        fix="set the arm's served_model_name",
    )


async def served_models(url: str, key: str | None) -> tuple[str, ...]:
    """Return the names of the models that a running server has. Raises ServerNotReady if it does not answer."""
    base = _base(url)
    path = f"{base}/v1/models"
    if (reason := await why_unhealthy(path, within_seconds=_ASKING_SECONDS, api_key=key)) is not None:
        raise _absent(path, reason)
    async with ControlClient(base, api_key=key) as control:
        return await control.models()


def api_key(target: ServersThatRun) -> str | None:
    """Return the key that the target's variable holds. Raises BadInput if it is to hold one and does not."""
    if target.api_key_variable is None:
        return None
    key = os.environ.get(target.api_key_variable)
    if key is None:
        raise BadInput(
            "api_key_missing",
            f"the variable {target.api_key_variable} is not set",
            why="the arm's target names it as the one that holds the API key",
            fix=f"export {target.api_key_variable}=...",
        )
    return _one_line(key.strip(), target.api_key_variable)


def _one_line(key: str, variable: str) -> str:
    if key and key.isascii() and key.isprintable():
        return key
    raise BadInput(
        "api_key_unusable",
        f"the variable {variable} holds no key that fits into a header",
        why="it is empty, or holds a line break or a character beyond ASCII",
        fix=f"export {variable}=... with the key alone",
    )


def _base(url: str) -> str:
    """Return where paths such as /health begin: people copy addresses with the end that clients want."""
    base = url.rstrip("/")
    for end in ("/chat/completions", "/completions", "/v1"):
        base = base.removesuffix(end)
    return base.rstrip("/")


def insist_on_logs(target: ServersThatRun) -> None:
    """Raise BadInput if a log that the target names cannot be opened."""
    for log in target.logs:
        try:
            Path(log).open("rb").close()
        except OSError as error:
            raise _unreadable(Path(log), error) from error


def _log_text(log: Path) -> str:
    try:
        return log.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise _unreadable(log, error) from error


def _unreadable(log: Path, error: OSError) -> BadInput:
    return BadInput(
        "log_unreadable",
        f"the log {log} cannot be read: {error.strerror}",
        why="the arm's target names it as the log of a running server",
        fix="correct target.logs, or leave it out: facts that only the log tells are then unknown",
    )


def _absent(url: str, reason: str) -> ServerNotReady:
    return ServerNotReady(
        "server_unreachable",
        f"{url} does not answer 200",
        why=reason,
        fix="try the address with curl; start the server, or correct the arm's target",
    )
