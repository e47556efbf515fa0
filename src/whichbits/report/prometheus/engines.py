"""What the engines of the cell in flight say of themselves, as the watch over them has last written it."""

import zlib
from collections.abc import Iterator
from pathlib import Path

import msgspec

from whichbits.record.schema import ArmRecord
from whichbits.record.scrapes import FOLDER, Scrape, during_path
from whichbits.serve.metrics.counters import EngineCounters, read_counters

_GZIP = 31  # zlib's window bits for a gzip header and the largest window


class EngineReader:
    """Reads on in the files of one run: each scrape is looked at once, and only the last is understood."""

    def __init__(self, folder: Path) -> None:
        """Begin behind what is written by now."""
        self._folder = folder
        self._ends = {path: path.stat().st_size for path in (folder / FOLDER).glob("*.during.jsonl.gz")}
        self._last: dict[Path, Scrape] = {}

    def read(self, arm: ArmRecord, cell: int) -> dict[str, EngineCounters]:
        """Return what each replica of an arm said last in a cell; one that said nothing is left out."""
        said = {}
        for replica in arm.replicas:
            last = self._newest(during_path(self._folder, arm.arm, replica.replica))
            if last is not None and last.cell == cell:
                said[replica.replica] = read_counters(last.text)
        return said

    def _newest(self, path: Path) -> Scrape | None:
        if not path.exists():
            return None
        with path.open("rb") as file:
            file.seek(self._ends.get(path, 0))
            new = file.read()
        newest = b""
        for content, length in _members(new):
            newest, self._ends[path] = content, self._ends.get(path, 0) + length
        if newest:
            self._last[path] = msgspec.json.decode(newest, type=Scrape)
        return self._last.get(path)


def _members(data: bytes) -> Iterator[tuple[bytes, int]]:
    """Yield each whole gzip member with its length; the last may still be in the writing."""
    while data:
        member = zlib.decompressobj(_GZIP)
        content = member.decompress(data)
        if not member.eof:
            return
        yield content, len(data) - len(member.unused_data)
        data = member.unused_data
