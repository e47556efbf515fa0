"""Did the client, or something else on its machine, set the pace?"""

from collections.abc import Iterator
from urllib.parse import urlsplit

from whichbits.analyze.amounts import cells_of
from whichbits.analyze.findings.observed import Observed, evidence, place
from whichbits.analyze.summary import Finding
from whichbits.drive.reasons import known_again, without_bounds
from whichbits.hardware.loopback import is_loopback
from whichbits.language.phrase import phrase
from whichbits.record.schema import ArmRecord, Cell, ClientHealth, Manifest

QUIET_CORES = 0.1
"""Cores; an idle system's own daemons stay well below, and a tenth of a core already shifts the median of an arm that
the processor serves."""

BUSY_SHARE = 0.25
"""Share of all cores above which others are in the way of client and engine even where a GPU serves the arm."""


def client_limits(observed: Observed) -> Iterator[Finding]:
    """Name each cell in which the load generator may have set the pace."""
    for recorded in observed.manifest.cells:
        if recorded.client is None or recorded.client.verdict == "client_ok":
            continue
        cell = next(cell for cell in observed.cells if cell.cell == recorded.cell)
        limited = recorded.client.verdict == "client_limited"
        text = (
            phrase(
                "{place}: the client was the limit, so the cell is left out of comparisons{why}.",
                place=place(cell),
                why=_why(recorded.client),
            )
            if limited
            else phrase(
                "{place}: the client may have been the limit{why}.", place=place(cell), why=_why(recorded.client)
            )
        )
        code = "client_limited" if limited else "client_suspect"
        yield Finding("observed", code, text, (*evidence([cell]), *map(known_again, recorded.client.reasons)))


def _why(client: ClientHealth) -> str:
    """Return the first reason without the bounds that it was held against; all of them are evidence."""
    return phrase(" ({reason})", reason=without_bounds(client.reasons[0])) if client.reasons else ""


def busy_machine(observed: Observed) -> Iterator[Finding]:
    """Name the cells during which something else used the machine so much that their numbers may be of it."""
    busy = [cell for cell in observed.manifest.cells if _disturbed(cell, observed.manifest)]
    if busy:
        most = max(busy, key=lambda cell: cell.other_cpu_cores or 0.0)
        numbers = {cell.cell for cell in busy}
        cores = observed.manifest.host.get("cores")
        text = phrase(
            "The machine was not quiet in {cells}: other processes kept up to "
            "{other_cpu_cores:.2f} of its {more}cores busy (cell {cell}). Such cells may be slower than they "
            "should be.",
            cells=cells_of(len(busy), sum(cell.other_cpu_cores is not None for cell in observed.manifest.cells)),
            other_cpu_cores=most.other_cpu_cores,
            more="" if cores is None else phrase("{cores} ", cores=cores),
            cell=most.cell,
        )
        named = evidence([cell for cell in observed.cells if cell.cell in numbers])
        yield Finding("observed", "machine_not_quiet", text, named)


def _disturbed(cell: Cell, manifest: Manifest) -> bool:
    """Return whether others took what the cell needed.

    A processor that serves the arm itself has none to spare. Beside a GPU, client and engine use a few cores, and
    others matter once they keep a large share busy. A server here that somebody else started counts as others too.
    """
    others = cell.other_cpu_cores
    arm = manifest.arms.get(cell.arm)
    if others is None or arm is None or _attached_here(arm):
        return False
    if _serves_on_processor(arm):
        return others > QUIET_CORES
    cores = manifest.host.get("cores")
    return isinstance(cores, int | float) and others > BUSY_SHARE * cores


def _serves_on_processor(arm: ArmRecord) -> bool:
    """Return whether whichbits' own machine computes the arm; an attached server computes elsewhere."""
    if not all(replica.command for replica in arm.replicas):
        return False
    devices = [fact.value for replica in arm.replicas if (fact := replica.facts.get("device")) is not None]
    return arm.engine == "embedded" or "cpu" in devices


def _attached_here(arm: ArmRecord) -> bool:
    return any(not replica.command and is_loopback(urlsplit(replica.url).hostname or "") for replica in arm.replicas)
