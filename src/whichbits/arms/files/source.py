"""The checkpoint that arms are made of: 16 bits wide, whole, and read by rows."""

import hashlib
import json
import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whichbits.checkpoint.facts import Checkpoint
from whichbits.checkpoint.read import read_checkpoint
from whichbits.checkpoint.safetensors import Tensor, broken, read_tensors
from whichbits.errors import BadInput

_NAMED = {8: ("F64", "I64", "U64"), 4: ("F32", "I32", "U32"), 2: ("F16", "BF16", "I16", "U16")}
_BYTE_WIDE = ("I8", "U8", "BOOL", "F8_E4M3", "F8_E5M2")
WIDTHS: Mapping[str, int] = {name: width for width, names in {**_NAMED, 1: _BYTE_WIDE}.items() for name in names}
"""Bytes of a number of each type that safetensors names."""


@dataclass(frozen=True)
class Source:
    """A model folder: its config as written, its tensors by name, and what they amount to."""

    folder: Path
    config: Mapping[str, Any]
    tensors: Mapping[str, Tensor]
    checkpoint: Checkpoint

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that hold tensors."""
        return tuple(sorted({tensor.file for tensor in self.tensors.values()}))


def open_source(folder: Path) -> Source:
    """Open a checkpoint folder.

    Raises:
        BadInput: ``checkpoint_unreadable``, ``checkpoint_broken``, ``checkpoint_shape_unknown``, ``arm_no_weights``
            if it has no safetensors, or ``arm_source_quantised`` if its weights are narrow already.
    """
    checkpoint = read_checkpoint(folder)
    tensors = read_tensors(folder)
    if not tensors:
        raise _no_weights(folder)
    if checkpoint.quant_method is not None or checkpoint.quantized_share > 0:
        raise _quantised(folder, checkpoint)
    for tensor in tensors.values():
        _insist_on_size(tensor)
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    return Source(folder, config, tensors, checkpoint)


def read_rows(tensor: Tensor, start: int, stop: int) -> NDArray[np.uint8]:
    """Return the bytes of rows ``start`` to ``stop`` of a matrix, or of a vector's numbers."""
    a_row = tensor.stored_bytes // tensor.shape[0]
    return read_bytes(tensor, start * a_row, stop * a_row)


def read_bytes(tensor: Tensor, start: int, stop: int) -> NDArray[np.uint8]:
    """Return bytes of a tensor; reading, not mapping, keeps them out of this process's memory."""
    taken = np.empty(stop - start, np.uint8)
    with tensor.file.open("rb", buffering=0) as file:
        view, at = memoryview(taken.data), 0
        while at < len(taken):
            got = os.preadv(file.fileno(), [view[at:]], tensor.at + start + at)
            if not got:
                broken(tensor.file, "it ended while it was read")
            at += got
    return taken


def fingerprints(files: tuple[Path, ...], workers: int) -> dict[str, str]:
    """Return the SHA-256 of each file by its name."""
    with ThreadPoolExecutor(workers) as pool:
        return dict(zip((file.name for file in files), pool.map(_sha256, files), strict=True))


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _insist_on_size(tensor: Tensor) -> None:
    width = WIDTHS.get(tensor.dtype)
    if width is None or min(tensor.shape, default=1) < 0 or tensor.elements * width != tensor.stored_bytes:
        broken(tensor.file, f"{tensor.name}: {tensor.stored_bytes} bytes for {tensor.dtype} of {list(tensor.shape)}")


def _no_weights(folder: Path) -> BadInput:
    return BadInput(
        "arm_no_weights",
        f"{folder} holds no safetensors",
        why="its weights are in another form (pytorch_model.bin), or only the config was fetched",
        fix="name a folder with *.safetensors beside config.json, or a .gguf file",
    )


def _quantised(folder: Path, checkpoint: Checkpoint) -> BadInput:
    method = checkpoint.quant_method or "no config, but narrow tensors"
    return BadInput(
        "arm_source_quantised",
        f"{folder} is quantised already ({method}, {checkpoint.linear_bits} bits)",
        why="rounding what was rounded before adds both errors, and the arm would be blamed for the first",
        fix="name the 16-bit checkpoint that it was made of",
    )
