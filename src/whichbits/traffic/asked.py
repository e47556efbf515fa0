"""What a kind of traffic is asked for: a cell's load, repeat and number of requests, and its random streams."""

from dataclasses import dataclass

from whichbits.study.model import Load, Study
from whichbits.traffic.draws import Draws


@dataclass(frozen=True)
class Asked:
    """One cell to plan."""

    study: Study
    load: Load
    repeat: int
    count: int

    def work(self, purpose: str) -> Draws:
        """Return a stream that is the same in every repeat: what it draws is the work."""
        return Draws(self.study.seed, purpose, str(self.load))

    def own(self, purpose: str, *more: str | int) -> Draws:
        """Return a stream of this repeat alone: what it draws no other cell has."""
        return Draws(self.study.seed, purpose, str(self.load), "repeat", self.repeat, *more)
