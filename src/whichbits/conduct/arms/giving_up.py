"""Giving up an arm: whose server fails loses its own cells, and nobody else's."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from whichbits.conduct.events import Notice
from whichbits.conduct.order import Visit
from whichbits.conduct.stage import Stage
from whichbits.errors import ArmMismatch, ServerNotReady, in_one_line
from whichbits.record.writer import RunWriter


@dataclass
class Attempt:
    """What a server was needed for, and whether it failed."""

    failed: bool = False


@dataclass(frozen=True)
class Losses:
    """The visit's servers that failed, with reasons."""

    stage: Stage
    visit: Visit
    failures: list[ServerNotReady]

    @contextmanager
    def borne(self, arm: str) -> Iterator[Attempt]:
        """Let an arm whose server fails cost its own cells only; one that is not what it claims ends the study."""
        attempt = Attempt()
        try:
            yield attempt
        except ServerNotReady as failure:
            attempt.failed = True
            reason = in_one_line(failure)
            self.failures.append(failure.about(arm))
            self.stage.listen(Notice(f"{arm}: {reason}; its other cells are skipped"))
            _skip(self.stage.writer, self.visit, arm, reason)
        except ArmMismatch as mismatch:
            _skip(self.stage.writer, self.visit, arm, in_one_line(mismatch))
            raise


def _skip(writer: RunWriter, visit: Visit, arm: str, reason: str) -> None:
    """Give up the arm's cells that hold no requests; a cell that the failure cut short keeps its own."""
    empty = {cell.cell for cell in writer.manifest.cells if cell.state in ("planned", "skipped")}
    for cell in visit.cells:
        if cell.arm == arm and cell.cell in empty:
            writer.cell(replace(cell, state="skipped", notes=(reason,)), ())
