"""What became of each request of a simulation, as columns that fill while it goes on."""

from array import array
from dataclasses import dataclass
from math import nan

from whichbits.predict.simulation.workload import Workload


@dataclass(frozen=True)
class Answers:
    """What became of each request, by its place in the workload; filled while the simulation goes on.

    ``sent_s`` and ``replica`` are when it left and for where. The other times are those of the engine's steps, in
    seconds; NaN until they are known. ``segments`` holds, where steps are
    kept, the runs of steps in which a request got its tokens: (first step, how many), more than one if preempted.
    """

    sent_s: "array[float]"
    replica: "array[int]"
    first_s: "array[float]"
    last_s: "array[float]"
    cached_tokens: "array[int]"
    segments: list[list[tuple[int, int]]]

    @classmethod
    def to(cls, work: Workload, *, keep_steps: bool) -> "Answers":
        """Return an empty sheet for ``work``."""
        size = len(work)
        unknown = array("d", [nan]) * size
        none = array("i", [0]) * size
        return cls(unknown, none, unknown[:], unknown[:], none[:], [[] for _ in range(size if keep_steps else 0)])

    def one_more(self) -> None:
        """Make room for one more request."""
        for times in (self.sent_s, self.first_s, self.last_s):
            times.append(nan)
        for numbers in (self.replica, self.cached_tokens):
            numbers.append(0)
