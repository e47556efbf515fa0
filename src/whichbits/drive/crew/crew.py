"""The crew of a run: workers hired when a cell first needs them, and kept for every cell after it."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Literal, Self

from whichbits.drive.crew.hire import Hire, Hired, in_a_process, in_a_thread
from whichbits.drive.crew.split import spare_cores, workers_for
from whichbits.drive.routing import Route
from whichbits.study.model import Load


class Crew:
    """Workers that drive cells together; a context manager, since they are to leave with it.

    Hiring one takes half a second, so those of one run serve all of its cells and its warm-ups.
    """

    def __init__(
        self,
        workers: int | Literal["auto"] = "auto",
        hire: Hire = in_a_process,
        cores: Callable[[], int] = spare_cores,
    ) -> None:
        """``workers`` is the study's ``client.workers``, ``cores`` what ``auto`` may take; nobody is hired yet."""
        self._wanted: int | Literal["auto"] = workers
        self._hire = hire
        self._cores = cores
        self._hired: list[Hired] = []
        self._numbers = 0

    @classmethod
    def inline(cls) -> Self:
        """Return a crew of a single thread of this process, which costs no start."""
        return cls(1, in_a_thread)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def hired(self) -> tuple[Hired, ...]:
        """Who is there now."""
        return tuple(self._hired)

    def size(self, load: Load, requests: int, route: Route) -> int:
        """Return how many of the crew a cell needs."""
        return workers_for(load, requests, self._wanted, route, self._cores)

    def take(self, count: int) -> tuple[Hired, ...]:
        """Return the first ``count`` workers, hiring those that are missing; returns before they are ready."""
        missing = count - len(self._hired)
        if missing > 0:
            self._bring_up(range(self._numbers, self._numbers + missing))
        return tuple(self._hired[:count])

    def _bring_up(self, numbers: range) -> None:
        """Hire all at once, since one elsewhere takes a second; if one cannot be had, the others are there."""
        self._numbers = numbers.stop
        with ThreadPoolExecutor(len(numbers)) as pool:
            hiring = [pool.submit(self._hire, number) for number in numbers]
        self._hired += [each.result() for each in hiring if each.exception() is None]
        for each in hiring:
            each.result()

    def part_with(self, worker: Hired) -> None:
        """End a worker that failed; another is hired when one is next needed."""
        if worker in self._hired:
            self._hired.remove(worker)
            worker.dismiss()

    def close(self) -> None:
        """End all; every channel is closed before the first is waited for."""
        hired, self._hired = self._hired, []
        for worker in hired:
            worker.channel.close()
        for worker in hired:
            worker.dismiss()
