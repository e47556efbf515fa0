"""What whichbits must know of an engine to serve an arm with it, and the engines by name."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Protocol

from whichbits.errors import BadInput
from whichbits.record.schema import Fact
from whichbits.serve.endpoint.control import ControlClient
from whichbits.study.arm import Arm

ENGINES: Mapping[str, str] = {
    "embedded": "whichbits.serve.embedded.launch:EmbeddedEngine",
    "vllm": "whichbits.serve.vllm.engine:VllmEngine",
    "sglang": "whichbits.serve.running:sglang",
    "llamacpp": "whichbits.serve.running:llamacpp",
    "openai": "whichbits.serve.running:openai",
    "mock": "whichbits.serve.mock.launch:MockEngine",
}


@dataclass(frozen=True)
class Prepared:
    """A checkpoint ready to be served, and what its files say of it."""

    model_path: str
    checkpoint: dict[str, Fact]


@dataclass(frozen=True)
class Place:
    """Where a server is to run: its address, its GPUs (None: the engine chooses), and how many servers share them.

    With ``trace_folder``, it is to write there what its profiler records when asked to.
    """

    host: str
    port: int
    gpus: tuple[int, ...] | None = None
    servers_per_gpu: int = 1
    trace_folder: Path | None = None


@dataclass(frozen=True)
class Launch:
    """How to start one server: its command, the environment on top of ours, and what is known of it beforehand."""

    argv: tuple[str, ...]
    environment: dict[str, str]
    facts: dict[str, Fact] = field(default_factory=dict)


class Engine(Protocol):
    """One engine's ways: how it starts, what its log means, and what it must prove."""

    @property
    def name(self) -> str:
        """Return the name by which studies call it."""
        ...

    @property
    def health_path(self) -> str:
        """Return the path that answers 200 as soon as requests can come."""
        ...

    @property
    def cache_reset_path(self) -> str | None:
        """Return the path that empties the prefix cache on POST; None if the engine has none."""
        ...

    @property
    def sleep_option(self) -> str | None:
        """Return the option that lets servers be put to sleep by /sleep and /wake_up; None if they cannot."""
        ...

    def measures_free_memory(self, arm: Arm) -> bool:
        """Return whether a server of the arm sizes itself by what is free while it starts: then nothing else may start.

        True also of engines of which nobody knows better.
        """
        ...

    def check(self, arm: Arm) -> list[str]:
        """Return why files on this machine contradict the arm's claim; nothing is fetched, made or started.

        Takes a second at most. Raises BadInput if the arm could not be served.
        """
        ...

    def prepare(self, arm: Arm) -> Prepared:
        """Find, fetch or convert the arm's checkpoint, for servers to be started and for running ones.

        May block for long. Raises BadInput.
        """
        ...

    def command(self, arm: Arm, prepared: Prepared, place: Place) -> Launch:
        """Say how to start a server of the arm at ``place``. Raises BadInput if this engine is never started."""
        ...

    def served_model(self, arm: Arm) -> str:
        """Return the model name that requests to a server started by ``command`` must carry."""
        ...

    def read_facts(self, log_text: str) -> dict[str, Fact]:
        """Read what the engine said of itself while starting."""
        ...

    async def ask_facts(self, control: ControlClient) -> dict[str, Fact]:
        """Ask a running server for what it tells of itself over HTTP; what it does not tell is absent."""
        ...

    def failure(self, log_text: str) -> str | None:
        """Return the root cause that the log of a dead server states; None if it states none."""
        ...

    def verify(self, arm: Arm, checkpoint: dict[str, Fact], facts: dict[str, Fact]) -> list[str]:
        """Return the reasons why the server is not the arm it claims to be; none is good."""
        ...


def engine(name: str) -> Engine:
    """Load an engine by name. Raises BadInput if there is none, or its dependencies are not installed."""
    if name not in ENGINES:
        raise _unknown(name)
    module, _, attribute = ENGINES[name].partition(":")
    try:
        found: Engine = getattr(import_module(module), attribute)()
    except ImportError as error:
        raise _not_installed(name, error) from error
    return found


def _unknown(name: str) -> BadInput:
    near = get_close_matches(name, ENGINES, n=1)
    guess = f"; did you mean {near[0]!r}?" if near else ""
    return BadInput(
        "unknown_engine",
        f"there is no engine {name!r}{guess}",
        why="an arm names an engine that this version does not know",
        fix=f"use one of: {', '.join(sorted(ENGINES))}",
    )


def _not_installed(name: str, error: ImportError) -> BadInput:
    return BadInput(
        "engine_not_installed",
        f"the engine {name!r} cannot be loaded: {error}",
        why="each engine's dependencies are an optional extra",
        fix=f"pip install 'whichbits[{name}]'",
    )
