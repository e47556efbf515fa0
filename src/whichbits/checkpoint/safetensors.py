"""Headers of safetensors files: names, types and shapes of all tensors, without their data.

A file opens with 8 bytes (little endian) that say how long the JSON after them is:
https://huggingface.co/docs/safetensors/index#format
"""

import json
import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from whichbits.errors import BadInput

INDEX = "model.safetensors.index.json"
_LONGEST_HEADER = 100_000_000  # the format's own limit
_PREFIX = struct.Struct("<Q")


@dataclass(frozen=True)
class Tensor:
    """One stored tensor; ``stored_bytes`` is its length in the file, which starts at ``at`` in ``file``."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    stored_bytes: int
    file: Path
    at: int

    @property
    def elements(self) -> int:
        """Stored numbers, packed ones counted as they lie."""
        return math.prod(self.shape)


def read_tensors(folder: Path) -> dict[str, Tensor]:
    """Return every tensor of a checkpoint folder by name; none if it holds no safetensors.

    Raises:
        BadInput: ``checkpoint_broken`` if a shard is missing, cut short, or not safetensors.
    """
    return {tensor.name: tensor for file in _files(folder) for tensor in _read_header(file)}


def whole_numbers(tensor: Tensor) -> tuple[int, ...]:
    """Return the values of a tiny I64 or I32 tensor, such as the shape that a packed weight had."""
    code = {"I64": "q", "I32": "i"}.get(tensor.dtype)
    if code is None:
        broken(tensor.file, f"{tensor.name} is {tensor.dtype}, not whole numbers")
    return struct.unpack(f"<{tensor.elements}{code}", raw_bytes(tensor))


def raw_bytes(tensor: Tensor) -> bytes:
    """Return the data of a tiny tensor."""
    with tensor.file.open("rb") as stream:
        stream.seek(tensor.at)
        return stream.read(tensor.stored_bytes)


def broken(file: Path, what: str) -> NoReturn:
    """Refuse a file of the checkpoint."""
    raise BadInput(
        "checkpoint_broken",
        f"{file}: {what}",
        why="a download was cut off, a shard is missing, or a pointer file of Git LFS lies in its place",
        fix="fetch the checkpoint again",
    )


def _files(folder: Path) -> list[Path]:
    index = folder / INDEX
    if not index.is_file():
        single = folder / "model.safetensors"  # some folders hold the same weights again as consolidated.safetensors
        return [single] if single.is_file() else sorted(folder.glob("*.safetensors"))
    try:
        shards = sorted(set(json.loads(index.read_bytes())["weight_map"].values()))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        broken(index, f"not an index of shards ({error})")
    for shard in shards:
        if not (folder / shard).is_file():
            broken(folder / shard, "the index names this shard, but it is not there")
    return [folder / shard for shard in shards]


def _read_header(file: Path) -> list[Tensor]:
    try:
        with file.open("rb") as stream:
            (length,) = _PREFIX.unpack(stream.read(_PREFIX.size))
            if length > _LONGEST_HEADER:
                broken(file, "not a safetensors file")
            header = json.loads(stream.read(length))
        start = _PREFIX.size + length
        tensors = [_tensor(file, name, entry, start) for name, entry in header.items() if name != "__metadata__"]
    except (OSError, struct.error, ValueError, KeyError, TypeError, AttributeError) as error:
        broken(file, f"its header cannot be read ({error})")
    end = max((tensor.at + tensor.stored_bytes for tensor in tensors), default=start)
    if file.stat().st_size < end:
        broken(file, f"cut short: {file.stat().st_size:,} bytes of {end:,}")
    return tensors


def _tensor(file: Path, name: str, entry: Mapping[str, Any], start: int) -> Tensor:
    begin, end = entry["data_offsets"]
    shape = tuple(int(size) for size in entry["shape"])
    return Tensor(name, str(entry["dtype"]), shape, int(end) - int(begin), file, start + int(begin))
