"""A statement that follows from the numbers."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Finding:
    """A statement with its evidence."""

    kind: Literal["observed", "interpretation", "unresolved"]
    code: str
    text: str
    evidence: tuple[str, ...] = ()
    settled_by: str | None = None
    """The measurement that would settle an interpretation, or what is unresolved."""
