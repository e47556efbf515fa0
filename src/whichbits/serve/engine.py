"""What whichbits must know of an engine to serve an arm with it, and the engines by name."""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import Protocol

from whichbits.errors import BadInput
from whichbits.record.schema import Fact
from whichbits.study.model import Arm

ENGINES: Mapping[str, str] = {"embedded": "whichbits.serve.embedded.launch:EmbeddedEngine"}


@dataclass(frozen=True)
class Prepared:
    """A checkpoint ready to be served, and what its files say of it."""

    model_path: str
    checkpoint: dict[str, Fact]


@dataclass(frozen=True)
class Launch:
    """How to start one server: its command, and the environment on top of ours."""

    argv: tuple[str, ...]
    environment: dict[str, str]


class Engine(Protocol):
    """One engine's ways: how it starts, what its log means, and what it must prove."""

    name: str

    def prepare(self, arm: Arm) -> Prepared:
        """Find, fetch or convert the arm's checkpoint. May block for long; raises BadInput."""
        ...

    def command(self, arm: Arm, prepared: Prepared, host: str, port: int) -> Launch:
        """Say how to start a server of the arm that listens on ``host`` and ``port``."""
        ...

    def served_model(self, arm: Arm) -> str:
        """Return the model name that requests must carry."""
        ...

    def read_facts(self, log_text: str) -> dict[str, Fact]:
        """Read what the engine said of itself while starting."""
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
