"""What every step of a running study needs."""

import asyncio
from dataclasses import dataclass

from whichbits.conduct.events import Progress
from whichbits.drive.crew.crew import Crew
from whichbits.record.writer import RunWriter
from whichbits.study.model import Study


@dataclass(frozen=True)
class Stage:
    """What a step needs: the question, where answers go, who listens, the wish to stop, the clock, who sends.

    ``origin_ns`` is the ``time.monotonic_ns()`` from which every recorded time counts.
    """

    study: Study
    writer: RunWriter
    listen: Progress
    stop: asyncio.Event
    origin_ns: int
    crew: Crew

    @property
    def cells_ended(self) -> int:
        """How many cells are over, well or not."""
        return sum(cell.state != "planned" for cell in self.writer.manifest.cells)
