"""The crew of a run: workers hired when a cell first needs them, and kept for every cell after it."""

from types import TracebackType
from typing import Literal, Self

from whichbits.drive.crew.hire import Hire, Hired, in_a_process, in_a_thread
from whichbits.drive.crew.split import workers_for
from whichbits.drive.routing import Route
from whichbits.study.model import Load


class Crew:
    """Workers that drive cells together; a context manager, since they are to leave with it.

    Hiring one takes half a second, so those of one run serve all of its cells and its warm-ups.
    """

    def __init__(self, workers: int | Literal["auto"] = "auto", hire: Hire = in_a_process) -> None:
        """``workers`` is the study's ``client.workers``; nobody is hired yet."""
        self._wanted: int | Literal["auto"] = workers
        self._hire = hire
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
        return workers_for(load, requests, self._wanted, route)

    def take(self, count: int) -> tuple[Hired, ...]:
        """Return the first ``count`` workers, hiring those that are missing; returns before they are ready."""
        while len(self._hired) < count:
            self._hired.append(self._hire(self._numbers))
            self._numbers += 1
        return tuple(self._hired[:count])

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
