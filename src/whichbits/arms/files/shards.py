"""A checkpoint's files while they are written: every tensor has its place before its first byte is known."""

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from whichbits.arms.files.source import WIDTHS
from whichbits.checkpoint.safetensors import INDEX, Tensor

SHARD_BYTES = 5 * 10**9
_ALIGNMENT = 8


@dataclass(frozen=True)
class Wanted:
    """A tensor to be written."""

    name: str
    dtype: str
    shape: tuple[int, ...]

    @property
    def stored_bytes(self) -> int:
        """Its length in the file."""
        return prod(self.shape) * WIDTHS[self.dtype]


class Shards:
    """Files that are open for writing anywhere, from any thread, and closed at the block's end."""

    def __init__(self, folder: Path, wanted: Iterable[Wanted], shard_bytes: int = SHARD_BYTES) -> None:
        """Write headers and make room; the index as well, if there is more than one file."""
        shards = _split(list(wanted), shard_bytes)
        self._open: dict[Path, int] = {}
        self.tensors: dict[str, Tensor] = {}
        for number, shard in enumerate(shards, 1):
            file = folder / _name(number, len(shards))
            placed = _write_header(file, shard)
            self.tensors |= placed
        if len(shards) > 1:
            _write_index(folder, self.tensors)

    def __enter__(self) -> Self:
        """Open the files."""
        for file in {tensor.file for tensor in self.tensors.values()}:
            self._open[file] = os.open(file, os.O_WRONLY)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Close them; what was written well is on the disk then."""
        for descriptor in self._open.values():
            if kind is None:
                os.fsync(descriptor)
            os.close(descriptor)
        self._open.clear()

    def write(self, name: str, start: int, content: NDArray[Any]) -> None:
        """Put bytes at ``start`` of a tensor."""
        tensor = self.tensors[name]
        _put(
            self._open[tensor.file],
            np.ascontiguousarray(content).view(np.uint8).reshape(-1).data,
            tensor.at + start,
        )

    def write_rows(self, name: str, first: int, content: NDArray[Any]) -> None:
        """Put whole rows at row ``first``."""
        self.write(name, first * content[0].nbytes, content)

    def write_columns(self, name: str, first: int, content: NDArray[Any]) -> None:
        """Put columns at column ``first`` of every row."""
        tensor, each = self.tensors[name], content.shape[1] * content.itemsize
        whole_row, at = tensor.shape[1] * content.itemsize, tensor.at + first * content.itemsize
        stretches = np.ascontiguousarray(content).view(np.uint8).reshape(-1).data
        for number in range(len(content)):
            _put(self._open[tensor.file], stretches[number * each : (number + 1) * each], at + number * whole_row)


def _put(descriptor: int, content: memoryview, at: int) -> None:
    while content:
        written = os.pwrite(descriptor, content, at)
        content, at = content[written:], at + written


def _split(wanted: list[Wanted], shard_bytes: int) -> list[list[Wanted]]:
    shards: list[list[Wanted]] = [[]]
    size = 0
    for tensor in wanted:
        if shards[-1] and size + tensor.stored_bytes > shard_bytes:
            shards.append([])
            size = 0
        shards[-1].append(tensor)
        size += tensor.stored_bytes
    return shards


def _name(number: int, count: int) -> str:
    return "model.safetensors" if count == 1 else f"model-{number:05}-of-{count:05}.safetensors"


def _write_header(file: Path, shard: list[Wanted]) -> dict[str, Tensor]:
    """Wide numbers come first, so that every tensor starts where its numbers may be read in place."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    at = 0
    for wanted in sorted(shard, key=lambda each: -WIDTHS[each.dtype]):
        end = at + wanted.stored_bytes
        header[wanted.name] = {"dtype": wanted.dtype, "shape": list(wanted.shape), "data_offsets": [at, end]}
        at = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % _ALIGNMENT)
    start = 8 + len(text)
    with file.open("wb") as stream:
        stream.write(len(text).to_bytes(8, "little") + text)
        stream.truncate(start + at)
    return {
        each.name: Tensor(
            each.name, each.dtype, each.shape, each.stored_bytes, file, start + header[each.name]["data_offsets"][0]
        )
        for each in shard
    }


def _write_index(folder: Path, tensors: Mapping[str, Tensor]) -> None:
    index = {
        "metadata": {"total_size": sum(tensor.stored_bytes for tensor in tensors.values())},
        "weight_map": {name: tensor.file.name for name, tensor in sorted(tensors.items())},
    }
    (folder / INDEX).write_text(json.dumps(index, indent=2), encoding="utf-8")
