"""What one file of an engine, a tool or a data set says: the answer of ``whichbits inspect``."""

from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal["startup_log", "metrics", "bench_json", "bench_stdout", "request_log", "sse", "dataset", "profile_trace"]


@dataclass(frozen=True)
class Problem:
    """An error or a warning by its code, with the text that shows it where there is one."""

    code: str
    line: str | None = None


@dataclass(frozen=True)
class Inspection:
    """Facts by name, units in the names; what the file does not hold is absent or None, never guessed.

    ``lines`` holds, for facts that were read from a line of text, that line.
    """

    kind: Kind
    engine: str | None
    engine_version: str | None
    facts: dict[str, Any]
    errors: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
    lines: dict[str, str] = field(default_factory=dict)
