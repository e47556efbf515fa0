"""A run's report as it is now: the one on disk where it is up to date, else one made of what is recorded so far."""

import asyncio
from collections import OrderedDict
from pathlib import Path

from whichbits.analyze.latency.request_timelines import request_timelines
from whichbits.analyze.summarize import summarize
from whichbits.record.manifest import FILE_NAME
from whichbits.record.run import Run
from whichbits.report.html import html

_KEPT = 8


class Reports:
    """Makes reports one at a time, off the loop, and keeps the last few."""

    def __init__(self) -> None:
        """Start with none."""
        self._made: OrderedDict[Path, tuple[int, bytes]] = OrderedDict()
        self._one_at_a_time = asyncio.Lock()

    async def of(self, folder: Path) -> bytes:
        """Return the report of the run in ``folder``.

        Raises:
            BadInput: the run cannot be read, or has nothing to report yet.
        """
        ready, recorded = folder / "report.html", (folder / FILE_NAME).stat().st_mtime_ns
        if ready.is_file() and ready.stat().st_mtime_ns >= recorded:
            return ready.read_bytes()
        async with self._one_at_a_time:
            made = self._made.get(folder)
            if made is None or made[0] != recorded:
                made = (recorded, await asyncio.to_thread(_make, folder))
                self._keep(folder, made)
        return made[1]

    def _keep(self, folder: Path, made: tuple[int, bytes]) -> None:
        self._made[folder] = made
        self._made.move_to_end(folder)
        while len(self._made) > _KEPT:
            self._made.popitem(last=False)


def _make(folder: Path) -> bytes:
    run = Run.load(folder)
    return html(summarize(run), run.manifest, requests=request_timelines(run))["report.html"]
