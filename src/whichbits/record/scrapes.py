"""Raw /metrics texts of a run, kept so a misreading can be mended: a JSON line a scrape, two files a replica.

Those around cells are a plain file; those during cells, two a second, are gzip members of a line each.
"""

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import quote

import msgspec

from whichbits.record.gzip_members import cut_torn_member, read_members
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
    """Add one line to the replica's plain file."""
    path = folder / FOLDER / f"{_stem(scrape.arm, scrape.replica)}.jsonl"
    path.parent.mkdir(exist_ok=True)
    with path.open("ab") as file:
        file.write(msgspec.json.encode(scrape) + b"\n")


def during_path(folder: Path, arm: str, replica: str) -> Path:
    """Return the replica's file of scrapes during cells."""
    return folder / FOLDER / f"{_stem(arm, replica)}.during.jsonl.gz"


def read_scrapes(folder: Path, *phases: Phase) -> list[Scrape]:
    """Return the scrapes of ``phases``, or all; see ``each_scrape``."""
    return list(each_scrape(folder, *phases))


def each_scrape(folder: Path, *phases: Phase) -> Iterator[Scrape]:
    """Yield the scrapes of ``phases``, or all, file by file in the order written, without the torn last of a kill.

    Only one is in memory at a time: an hour at two a second is several hundred MB of text for each replica.

    Raises:
        BadInput: ``run_broken`` if a file holds anything else than scrapes.
    """
    wanted = set(phases or ("before", "during", "after"))
    for path in _files(folder):
        if wanted & ({"during"} if _is_gzip(path) else {"before", "after", "during"}):
            yield from (scrape for scrape in _scrapes(folder, path) if scrape.phase in wanted)


def drop_torn_lines(folder: Path) -> None:
    """Cut what a kill left half written, so that the next scrape starts on a line of its own."""
    for path in _files(folder):
        if _is_gzip(path):
            drop_torn_member(folder, path)
        else:
            _drop_torn_line(path)


def drop_torn_member(folder: Path, path: Path) -> None:
    """Do so for one file of scrapes during cells; it need not exist.

    Raises:
        BadInput: ``run_broken`` if it is not gzip.
    """
    if path.exists():
        try:
            cut_torn_member(path)
        except zlib.error as error:
            raise _not_gzip(folder, path, error) from error


def _drop_torn_line(path: Path) -> None:
    content = path.read_bytes()
    if not content.endswith(b"\n"):
        path.write_bytes(content[: content.rfind(b"\n") + 1])


def _stem(arm: str, replica: str) -> str:
    return f"{quote(arm, safe='')}-{quote(replica, safe='')}"


def _files(folder: Path) -> list[Path]:
    return sorted(path for pattern in ("*.jsonl", "*.during.jsonl.gz") for path in (folder / FOLDER).glob(pattern))


def _is_gzip(path: Path) -> bool:
    return path.suffix == ".gz"


def _scrapes(folder: Path, path: Path) -> Iterator[Scrape]:
    for line in _whole_members(folder, path) if _is_gzip(path) else _whole_lines(path):
        yield _decoded(folder, path, line)


def _whole_lines(path: Path) -> Iterable[bytes]:
    return (line for line in path.read_bytes().splitlines(keepends=True) if line.endswith(b"\n"))


def _whole_members(folder: Path, path: Path) -> Iterator[bytes]:
    try:
        for member in read_members(path):
            yield member.content
    except zlib.error as error:
        raise _not_gzip(folder, path, error) from error


def _decoded(folder: Path, path: Path, line: bytes) -> Scrape:
    try:
        return msgspec.json.decode(line, type=Scrape)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise broken(folder, f"{FOLDER}/{path.name} has a line that is not a scrape: {error}") from error


def _not_gzip(folder: Path, path: Path, error: zlib.error) -> Exception:
    return broken(folder, f"{FOLDER}/{path.name} has a part that is not gzip: {error}")
