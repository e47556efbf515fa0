"""What a run records of the files that its traffic comes from: which bytes they were, and what of them was usable."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from whichbits.errors import BadInput
from whichbits.traffic.version import FileVersion, digest_of


@dataclass
class Counts:
    """How many rows a file has, how many are usable, and why the others are not."""

    usable: int = 0
    unusable: dict[str, int] = field(default_factory=dict)
    first_row: dict[str, int] = field(default_factory=dict)
    """By reason, the first row (from 1) that has it."""

    def count(self, row: int, reason: str | None) -> None:
        """Take one more row."""
        if reason is None:
            self.usable += 1
            return
        self.unusable[reason] = self.unusable.get(reason, 0) + 1
        self.first_row.setdefault(reason, row)

    def __str__(self) -> str:
        """Return the reasons as messages tell them."""
        told = (f"{count} {reason} (first: row {self.first_row[reason]})" for reason, count in self.unusable.items())
        return ", ".join(told) or "no rows at all"


def file_facts(version: FileVersion, counts: Counts, **more: Any) -> dict[str, Any]:
    """Return the record of a file: path, bytes, SHA-256, rows by usability, and whatever ``more`` there is to tell.

    Raises:
        BadInput: ``traffic_file_unreadable``.
    """
    return {
        "path": str(version.path),
        "bytes": version.bytes,
        "sha256": digest_of(version),
        "rows_usable": counts.usable,
        "rows_unusable": sum(counts.unusable.values()),
        "unusable": dict(counts.unusable),
        "first_unusable_row": dict(counts.first_row),
        **more,
    }


def refuse_changed(recorded: dict[str, Any], found: dict[str, Any]) -> None:
    """Raise BadInput, ``traffic_changed``, if a file is not the one that a run began with."""
    pairs = [(recorded, found), (recorded.get("arrivals") or {}, found.get("arrivals") or {})]
    for before, now in pairs:
        if before.get("sha256") is not None and before["sha256"] != now.get("sha256"):
            raise BadInput(
                "traffic_changed",
                f"{now.get('path') or before['path']} is not the file that the run began with",
                why="it was written anew, so that later cells would send other requests than earlier ones",
                fix="put the first file back (run.json holds its SHA-256), or start a new run",
            )


def without_usable_row(path: Path, counts: Counts, wanted: str) -> BadInput:
    """Return the error for a file of which nothing can be sent."""
    return BadInput(
        "traffic_file_unusable",
        f"no row of {path} can be sent as {wanted}: {counts}",
        why="the file is empty, is of another kind, was cut off, or limits of the study leave nothing",
        fix="look at it with `whichbits inspect`; docs/traffic.md names the fields that are read",
    )


def needs_text(path: Path) -> BadInput:
    """Return the error for words where a study sends ids."""
    return BadInput(
        "traffic_needs_text",
        f"{path} holds words, but the study sends token ids",
        why="whichbits makes no ids of words: the server's own tokenizer does",
        fix="set `request: {prompt: text}`, with `api: chat` for messages; or give each line `token_ids`",
    )
