"""A log of the embedded engine to an inspection; it writes and reads its facts itself."""

from collections.abc import Sequence

from whichbits.record.inspection import Inspection, Problem
from whichbits.record.schema import Fact
from whichbits.serve.embedded.facts import read_facts, read_failure
from whichbits.serve.logs.lines import LogLine


def claims(line: LogLine) -> bool:
    """Return whether only the embedded engine prints this."""
    return "[embedded] " in line.text


def inspect(lines: Sequence[LogLine]) -> Inspection:
    """Read the log."""
    text = "\n".join(line.shown for line in lines)
    found = {name: fact for name, fact in _facts(text).items() if fact.line is not None}
    version = found.pop("engine_version", None)
    failed = read_failure(text)
    return Inspection(
        "startup_log",
        "embedded",
        None if version is None else str(version.value),
        {name: fact.value for name, fact in found.items()},
        () if failed is None else (Problem("engine_failed_to_start", failed),),
        lines={name: fact.line for name, fact in found.items() if fact.line},
    )


def _facts(text: str) -> dict[str, Fact]:
    try:
        return read_facts(text)
    except ValueError:  # a line that someone else wrote in the engine's shape
        return {}
