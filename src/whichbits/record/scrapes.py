"""Raw /metrics texts of a run, kept so a misreading can be mended: a file a replica, a JSON line a scrape."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import quote

import msgspec

from whichbits.record.manifest import broken

FOLDER = "scrapes"

Phase = Literal["before", "during", "after"]


@dataclass(frozen=True)
class Scrape:
    """What one replica's /metrics said at one moment; ``cell`` is None outside any cell, as in a warm-up."""

    arm: str
    replica: str
    cell: int | None
    phase: Phase
    time_ns: int
    text: str


def append_scrape(folder: Path, scrape: Scrape) -> None:
    """Add one line to the replica's file."""
    path = folder / FOLDER / f"{quote(scrape.arm, safe='')}-{quote(scrape.replica, safe='')}.jsonl"
    path.parent.mkdir(exist_ok=True)
    with path.open("ab") as file:
        file.write(msgspec.json.encode(scrape) + b"\n")


def read_scrapes(folder: Path) -> list[Scrape]:
    """Return all scrapes, replica by replica in time order, without the torn last line of a kill."""
    return [scrape for path in _files(folder) for scrape in _whole_lines(folder, path)]


def drop_torn_lines(folder: Path) -> None:
    """Cut what a kill left half written, so that the next scrape starts on a line of its own."""
    for path in _files(folder):
        content = path.read_bytes()
        if not content.endswith(b"\n"):
            path.write_bytes(content[: content.rfind(b"\n") + 1])


def _files(folder: Path) -> list[Path]:
    return sorted((folder / FOLDER).glob("*.jsonl"))


def _whole_lines(folder: Path, path: Path) -> Iterator[Scrape]:
    for line in path.read_bytes().splitlines(keepends=True):
        if line.endswith(b"\n"):
            yield _decoded(folder, path, line)


def _decoded(folder: Path, path: Path, line: bytes) -> Scrape:
    try:
        return msgspec.json.decode(line, type=Scrape)
    except msgspec.MsgspecError as error:
        raise broken(folder, f"{FOLDER}/{path.name} has a line that is not a scrape: {error}") from error
