"""One cell as another tool's file tells it, before it is part of a run."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from whichbits.record.schema import Cell, Imported, RequestRecord

FAILED = "failed_elsewhere"
"""Error code of a request that another tool counts as failed."""


@dataclass(frozen=True)
class ImportedCell:
    """What the file says; ``arm`` is the name it gives to what was served, None if it gives none."""

    imported: Imported
    arm: str | None = None
    concurrency: int | None = None
    request_rate: float | None = None
    completed: int | None = None
    failed: int | None = None
    records: Sequence[RequestRecord] = ()
    facts: Mapping[str, str] = field(default_factory=dict)
    """What is known of model, engine and hardware, and the tool's version."""
    notes: tuple[str, ...] = ()

    def with_notes(self, notes: Iterable[str]) -> "ImportedCell":
        """Return the cell with remarks added."""
        return replace(self, notes=(*self.notes, *notes))

    def cell(self, number: int, arm: str, repeat: int) -> Cell:
        """Return it as a cell of a run."""
        untold = () if self.failed is not None else ("the tool does not tell how many requests failed",)
        return Cell(
            cell=number,
            arm=arm,
            concurrency=self.concurrency,
            request_rate=self.request_rate,
            repeat=repeat,
            state="done",
            # What has no rows must not promise any: a reader takes missing rows for damage.
            requests=len(self.records) or None,
            failed=self.failed,
            started_ns=min((record.scheduled_ns for record in self.records), default=None),
            finished_ns=max((record.finished_ns or 0 for record in self.records), default=None),
            notes=(*self.notes, *untold),
            imported=replace(self.imported, requests=self._requests()),
        )

    def _requests(self) -> int | None:
        if self.records:
            return len(self.records)
        return None if self.completed is None else self.completed + (self.failed or 0)


def known(**facts: str | None) -> dict[str, str]:
    """Return those facts that are known."""
    return {name: value for name, value in facts.items() if value is not None}
