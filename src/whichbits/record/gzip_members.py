"""Files of concatenated gzip members (RFC 1952, 2.2): each append is a member of its own, so a kill tears the last."""

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_PIECE_BYTES = 65536
_GZIP = 31  # zlib's window bits for a gzip header and the largest window


class Member(NamedTuple):
    """What one append wrote, and the offset in the file just behind it."""

    content: bytes
    end: int


def read_members(path: Path) -> Iterator[Member]:
    """Yield the members in order, one in memory at a time, without a torn one at the end.

    Raises:
        zlib.error: what stands there is not gzip.
    """
    with path.open("rb") as file:
        end, piece = 0, file.read(_PIECE_BYTES)
        while piece:
            member, parts = zlib.decompressobj(_GZIP), list[bytes]()
            while piece and not member.eof:
                parts.append(member.decompress(piece))
                end += len(piece)
                piece = member.unused_data or file.read(_PIECE_BYTES)
            if not member.eof:
                return
            end -= len(member.unused_data)
            yield Member(b"".join(parts), end)


def cut_torn_member(path: Path) -> None:
    """Cut what a kill left half written, so that the next member starts where a reader looks for it.

    Raises:
        zlib.error: what stands there is not gzip; the file is left as it is.
    """
    end = 0
    for member in read_members(path):
        end = member.end
    if end < path.stat().st_size:
        with path.open("r+b") as file:
            file.truncate(end)
