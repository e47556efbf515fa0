"""A run's report as it is now: the one on disk where it is up to date, else one made of what is recorded so far."""

import asyncio
import re
from collections import OrderedDict
from pathlib import Path

from whichbits.analyze.latency.request_timelines import request_timelines
from whichbits.analyze.summarize import summarize
from whichbits.language.language import Code, language
from whichbits.record.manifest import FILE_NAME
from whichbits.record.run import Run
from whichbits.report.html import html
from whichbits.report.shown import shown_cells

_KEPT = 8
_LANGUAGE = re.compile(rb'<html lang="(\w+)"')
_HEAD = 20_000
"""Within so many bytes a report says its language."""


class Reports:
    """Makes reports one at a time, off the loop, and keeps the last few."""

    def __init__(self) -> None:
        """Start with none."""
        self._made: OrderedDict[tuple[Path, Code], tuple[int, bytes]] = OrderedDict()
        self._one_at_a_time = asyncio.Lock()

    async def of(self, folder: Path, lang: Code = "en") -> bytes:
        """Return the report of the run in ``folder`` in a language.

        Raises:
            BadInput: the run cannot be read, or has nothing to report yet.
        """
        ready, recorded = folder / "report.html", (folder / FILE_NAME).stat().st_mtime_ns
        if ready.is_file() and ready.stat().st_mtime_ns >= recorded:
            content = ready.read_bytes()
            said = _LANGUAGE.search(content[:_HEAD])
            if said is None or said[1].decode() == lang:
                return content
        async with self._one_at_a_time:
            made = self._made.get((folder, lang))
            if made is None or made[0] != recorded:
                made = (recorded, await asyncio.to_thread(_make, folder, lang))
                self._keep((folder, lang), made)
        return made[1]

    def _keep(self, which: tuple[Path, Code], made: tuple[int, bytes]) -> None:
        self._made[which] = made
        self._made.move_to_end(which)
        while len(self._made) > _KEPT:
            self._made.popitem(last=False)


def _make(folder: Path, lang: Code) -> bytes:
    run = Run.load(folder)
    summary = summarize(run)
    requests = request_timelines(run, shown_cells(summary))
    return html(summary, run.manifest, language(lang), requests)["report.html"]
