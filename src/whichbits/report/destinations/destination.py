"""What a destination is, and those that there are."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol, cast

from whichbits.analyze.summarize import summarize
from whichbits.analyze.summary import Summary
from whichbits.errors import BadInput
from whichbits.record.run import Run


@dataclass(frozen=True)
class Outgoing:
    """A run with where it goes; ``endpoint`` and ``project`` are None where the service's own defaults hold."""

    run: Run
    summary: Summary
    endpoint: str | None = None
    project: str | None = None


class Destination(Protocol):
    """Sends a run away, and tells line by line what has arrived."""

    def __call__(self, outgoing: Outgoing, /) -> Iterator[str]:
        """Send, yielding a line for people after each part."""


DESTINATIONS: Mapping[str, str] = {
    "otlp": "whichbits.report.destinations.otlp:otlp",
    "mlflow": "whichbits.report.destinations.mlflow_runs:mlflow_runs",
    "wandb": "whichbits.report.destinations.wandb_runs:wandb_runs",
}
"""By name, which is also the extra's; loaded when asked for."""


def send_run(run: Run, name: str, endpoint: str | None = None, project: str | None = None) -> Iterator[str]:
    """Send a run to the destination of that name, and yield what has arrived.

    Raises:
        BadInput: ``destination_unknown``, ``destination_library_missing``, ``destination_refused`` or
            ``nothing_to_export``.
    """
    send = _destination(name)
    if not any(cell.state == "done" for cell in run.cells):
        raise BadInput(
            "nothing_to_export",
            f"{run.folder} has no finished cell",
            why="the run was stopped early",
            fix="go on with it by `whichbits run --resume FOLDER`, then send it",
        )
    yield from send(Outgoing(run, summarize(run), endpoint, project))


def library(name: str, extra: str) -> Any:
    """Import a library that only a destination needs.

    Raises:
        BadInput: ``destination_library_missing``.
    """
    try:
        return import_module(name)
    except ImportError as error:
        raise BadInput(
            "destination_library_missing",
            f"{name} is not installed",
            why="whichbits installs what a destination needs only where it is asked to",
            fix=f"pip install 'whichbits[{extra}]'",
        ) from error


def refused(where: str, reason: object) -> BadInput:
    """Return the error for a service that did not take what was sent."""
    return BadInput(
        "destination_refused",
        f"{where} did not take it: {reason}",
        why="nothing listens there, the address is not the service's, or it wants a key",
        fix="look at the address and the service's own variables for keys; what had arrived before stays there",
    )


def _destination(name: str) -> Destination:
    if name not in DESTINATIONS:
        raise BadInput(
            "destination_unknown",
            f"there is no destination {name!r}",
            why="the name is misspelt, or nobody has written it yet",
            fix=f"use one of: {', '.join(DESTINATIONS)}",
        )
    module, _, function = DESTINATIONS[name].partition(":")
    return cast("Destination", getattr(import_module(module), function))
