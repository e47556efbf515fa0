"""The servers of an arm as the rest of whichbits sees them: where traffic goes, and who is observed."""

from dataclasses import dataclass, field
from typing import Protocol
from urllib.parse import urlsplit

from whichbits.errors import ServerNotReady
from whichbits.record.schema import ReplicaRecord
from whichbits.serve.endpoint.control import ControlClient
from whichbits.serve.endpoint.way import DIRECT, Way


@dataclass(frozen=True)
class Endpoint:
    """Where requests enter; ``replica`` is None where somebody else, such as a Service, chooses the replica."""

    host: str
    port: int
    model: str
    replica: str | None
    path: str = "/v1/completions"
    tls: bool = False
    api_key: str | None = field(default=None, repr=False)
    way: Way = DIRECT

    @classmethod
    def of(cls, url: str, model: str, replica: str | None, api_key: str | None = None, way: Way = DIRECT) -> "Endpoint":
        """Return the completions endpoint under ``url``, which may end with /v1."""
        parts = urlsplit(url)
        tls = parts.scheme == "https"
        return cls(
            host=parts.hostname or "",
            port=parts.port or (443 if tls else 80),
            model=model,
            replica=replica,
            path=parts.path.rstrip("/").removesuffix("/v1") + "/v1/completions",
            tls=tls,
            api_key=api_key,
            way=way,
        )


@dataclass(frozen=True)
class Replica:
    """One server: its name in the record, and how to ask it things beside the traffic."""

    name: str
    control: ControlClient
    log: str | None = None
    """Where a person finds its log."""
    has_metrics: bool = True
    bearer_variable: str | None = None
    """The environment variable that holds its API key, if it asks for one."""
    way: Way = DIRECT


class Fleet(Protocol):
    """All servers of one arm, as they are now."""

    async def start(self) -> None:
        """Start the servers, or find those that run, and wait until all answer. Raises ServerNotReady, BadInput."""
        ...

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        """Return where requests enter."""
        ...

    @property
    def replicas(self) -> tuple[Replica, ...]:
        """Return the servers that answer them, as far as they can be observed."""
        ...

    @property
    def records(self) -> tuple[ReplicaRecord, ...]:
        """Return how each server came to be and what it said of itself."""
        ...

    async def refresh(self) -> tuple[str, ...]:
        """Look again who serves; return what changed since the last look, in words."""
        ...

    async def death(self) -> ServerNotReady | None:
        """Return why a server no longer serves; None if all do."""
        ...

    async def end(self) -> None:
        """End what was started for this arm, and nothing else."""
        ...
