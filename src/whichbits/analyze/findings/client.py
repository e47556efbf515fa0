"""Did the client, or something else on its machine, set the pace?"""

from collections.abc import Iterator

from whichbits.analyze.findings.observed import Observed, evidence, place
from whichbits.analyze.summary import Finding

QUIET_CORES = 0.1
"""Cores; an idle system's own daemons stay well below, and a tenth of a core already shifts a median visibly."""


def client_limits(observed: Observed) -> Iterator[Finding]:
    """Name each cell in which the load generator may have set the pace."""
    for recorded in observed.manifest.cells:
        if recorded.client is None or recorded.client.verdict == "client_ok":
            continue
        cell = next(cell for cell in observed.cells if cell.cell == recorded.cell)
        limited = recorded.client.verdict == "client_limited"
        text = (
            f"{place(cell)}: the client was the limit, so the cell is left out of comparisons."
            if limited
            else f"{place(cell)}: the client may have been the limit."
        )
        code = "client_limited" if limited else "client_suspect"
        yield Finding("observed", code, text, (*evidence([cell]), *recorded.client.reasons))


def busy_machine(observed: Observed) -> Iterator[Finding]:
    """Name the cells during which something else used the machine that the study ran on."""
    busy = [cell for cell in observed.manifest.cells if (cell.other_cpu_cores or 0.0) > QUIET_CORES]
    if busy:
        most = max(busy, key=lambda cell: cell.other_cpu_cores or 0.0)
        numbers = {cell.cell for cell in busy}
        text = (
            f"The machine was not quiet in {len(busy)} of {len(observed.done)} cells: other processes kept up to "
            f"{most.other_cpu_cores:.2f} of its cores busy (cell {most.cell}). On a processor that serves the arms "
            f"itself, such cells are slower than they should be."
        )
        named = evidence([cell for cell in observed.cells if cell.cell in numbers])
        yield Finding("observed", "machine_not_quiet", text, named)
