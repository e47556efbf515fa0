"""The watch over a running arm: every replica's /metrics while cells run, taken by another process."""

import asyncio
from asyncio.subprocess import Process
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Self

import msgspec

from whichbits.record.scrapes import FOLDER, drop_torn_member, during_path
from whichbits.serve.process.sidecar import end, started, tell
from whichbits.serve.watch import watcher

INTERVAL_SECONDS = 0.5
_REPORT_SECONDS = 5.0


@dataclass(frozen=True)
class WatchTarget:
    """One replica; ``url`` has no trailing slash and no /metrics.

    ``bearer_variable`` names the environment variable that holds its API key, if it asks for one: the key itself
    never leaves the environment.
    """

    arm: str
    replica: str
    url: str
    bearer_variable: str | None = None
    ca_file: str | None = None
    proxy: str | None = field(default=None, repr=False)


@dataclass(frozen=True)
class WatchReport:
    """How the watch over one cell went, summed over the replicas; counts are None if its process died.

    ``skipped`` beats passed while an earlier answer was still awaited. ``worst_ms`` is the longest that a successful
    scrape took, None without one; ``error`` is the cause of one of the failures.
    """

    cell: int
    scrapes: int | None
    failed: int | None
    skipped: int | None
    worst_ms: float | None
    error: str | None


class Watch:
    """Scrapes ``targets`` every ``interval_seconds`` between ``begin`` and ``pause``; an async context manager.

    The texts go to the run's scrapes/ folder with phase "during", and times that count from ``origin_ns``, a
    ``time.monotonic_ns()`` of this host. The process that does it costs the load loop nothing but two short
    writes a cell, and ends with us, however we end. If it dies first, the next cell starts another.
    """

    def __init__(
        self,
        targets: Sequence[WatchTarget],
        folder: Path,
        origin_ns: int,
        interval_seconds: float = INTERVAL_SECONDS,
    ) -> None:
        """``folder`` is the run's."""
        self._targets = targets
        self._folder = folder
        self._origin_ns = origin_ns
        self._interval_seconds = interval_seconds
        self._process: Process | None = None
        self._cell: int | None = None

    async def __aenter__(self) -> Self:
        await self._start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._end()

    @property
    def pid(self) -> int | None:
        """The process's, None if there is none."""
        return None if self._process is None else self._process.pid

    async def begin(self, cell: int) -> None:
        """Scrape for ``cell`` from now on."""
        if self._process is None or self._process.returncode is not None:
            await self._end()
            await self._start()
        self._cell = cell
        await tell(self._process, {"start": cell})

    async def pause(self) -> WatchReport:
        """Stop scraping, and say how it went. All that is counted is on the disk.

        Raises:
            RuntimeError: there was no ``begin``.
        """
        if self._cell is None:
            raise RuntimeError("a pause without a begin")
        cell, self._cell = self._cell, None
        await tell(self._process, {"pause": True})
        try:
            async with asyncio.timeout(_REPORT_SECONDS):
                return await self._report_on(cell)
        except TimeoutError:
            return _lost(cell, f"the watch did not answer within {_REPORT_SECONDS:g} s")

    async def _start(self) -> None:
        (self._folder / FOLDER).mkdir(exist_ok=True)
        paths = [during_path(self._folder, target.arm, target.replica) for target in self._targets]
        for path in paths:
            # What is appended behind a torn member could not be read.
            await asyncio.to_thread(drop_torn_member, self._folder, path)
        self._process = await started(watcher.__file__)
        targets = [{**asdict(target), "path": str(path)} for target, path in zip(self._targets, paths, strict=True)]
        await tell(
            self._process,
            {"origin_ns": self._origin_ns, "interval_seconds": self._interval_seconds, "targets": targets},
        )

    async def _end(self) -> None:
        process, self._process = self._process, None
        await end(process)

    async def _report_on(self, cell: int) -> WatchReport:
        """Return the report on ``cell``, past those of earlier pauses that were not waited for."""
        process = self._process
        if process is None or process.stdout is None or process.stderr is None:
            return _lost(cell, "the watch was not started")
        while line := await process.stdout.readline():
            report = msgspec.json.decode(line, type=WatchReport)
            if report.cell == cell:
                return report
        said = (await process.stderr.read()).decode(errors="replace").split("\n")
        code = await process.wait()
        return _lost(cell, next((line for line in reversed(said) if line), f"the watch ended with exit code {code}"))


def _lost(cell: int, cause: str) -> WatchReport:
    return WatchReport(cell, None, None, None, None, cause)
