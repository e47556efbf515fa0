"""What a GGUF file says before its tensor data starts: keys, and where each tensor lies.

The layout is version 2 and 3 of the GGUF specification (ggml, ``docs/gguf.md``): little endian, counted
strings. The ``gguf`` package reads it too, but builds an array for every string of a vocabulary: seconds.
"""

import struct
from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

from gguf import GGML_QUANT_SIZES, GGMLQuantizationType, GGUFValueType

from whichbits.errors import BadInput

_SCALAR_FORMATS = {
    GGUFValueType.UINT8: "<B",
    GGUFValueType.INT8: "<b",
    GGUFValueType.UINT16: "<H",
    GGUFValueType.INT16: "<h",
    GGUFValueType.UINT32: "<I",
    GGUFValueType.INT32: "<i",
    GGUFValueType.FLOAT32: "<f",
    GGUFValueType.BOOL: "<?",
    GGUFValueType.UINT64: "<Q",
    GGUFValueType.INT64: "<q",
    GGUFValueType.FLOAT64: "<d",
}


@dataclass(frozen=True)
class Key:
    """One key's value with its GGUF type, so that it can be written again as it was."""

    value: Any
    type: GGUFValueType
    element_type: GGUFValueType | None = None


@dataclass(frozen=True)
class Tensor:
    """One tensor; ``shape`` is row-major (rows first), ``offset`` counts bytes from the start of the file."""

    name: str
    shape: tuple[int, ...]
    type: GGMLQuantizationType
    offset: int

    @property
    def parameters(self) -> int:
        return prod(self.shape)

    @property
    def bytes(self) -> int:
        block_elements, block_bytes = GGML_QUANT_SIZES[self.type]
        return self.parameters // block_elements * block_bytes


@dataclass(frozen=True)
class GgufHeader:
    """Keys and tensors of one file."""

    keys: dict[str, Key]
    tensors: tuple[Tensor, ...]

    def get(self, key: str) -> Any:
        """Return a key's value, or None."""
        found = self.keys.get(key)
        return None if found is None else found.value

    @property
    def architecture(self) -> str:
        return str(self.get("general.architecture"))

    def of_architecture(self, key: str) -> Any:
        """Return the value of a key that GGUF prefixes with the architecture, or None."""
        return self.get(f"{self.architecture}.{key}")


def read_gguf_header(path: Path) -> GgufHeader:
    """Read keys and tensor places of a GGUF file.

    Raises:
        BadInput: if the file is no GGUF file or is cut short.
    """
    try:
        with path.open("rb") as file:
            return _read(file)
    except (OSError, struct.error, ValueError, KeyError) as error:
        raise BadInput(
            "embedded_bad_gguf",
            f"{path} cannot be read as a GGUF file: {error}",
            why="The file is missing, cut short, of another format, or of a GGUF version other than 2 and 3.",
            fix="Check the path, and download or convert the file again.",
        ) from error


def _read(file: BinaryIO) -> GgufHeader:
    if file.read(4) != b"GGUF":
        raise ValueError("it does not start with GGUF")
    version, tensor_count, key_count = struct.unpack("<IQQ", file.read(20))
    if version not in (2, 3):
        raise ValueError(f"GGUF version {version}")
    keys = {_string(file): _key(file) for _ in range(key_count)}
    places = [_place(file) for _ in range(tensor_count)]
    alignment = keys["general.alignment"].value if "general.alignment" in keys else 32
    data_start = -(-file.tell() // alignment) * alignment
    return GgufHeader(keys, tuple(Tensor(name, shape, kind, data_start + at) for name, shape, kind, at in places))


def _scalar(file: BinaryIO, layout: str) -> Any:
    return struct.unpack(layout, file.read(struct.calcsize(layout)))[0]


def _string(file: BinaryIO) -> str:
    return file.read(_scalar(file, "<Q")).decode("utf-8")


def _key(file: BinaryIO) -> Key:
    kind = GGUFValueType(_scalar(file, "<I"))
    if kind is not GGUFValueType.ARRAY:
        return Key(_reader(kind)(file), kind)
    element_kind = GGUFValueType(_scalar(file, "<I"))
    count = _scalar(file, "<Q")
    read = _reader(element_kind)
    return Key([read(file) for _ in range(count)], kind, element_kind)


def _reader(kind: GGUFValueType) -> Callable[[BinaryIO], Any]:
    if kind is GGUFValueType.STRING:
        return _string
    layout = _SCALAR_FORMATS[kind]
    return lambda file: _scalar(file, layout)


def _place(file: BinaryIO) -> tuple[str, tuple[int, ...], GGMLQuantizationType, int]:
    name = _string(file)
    dimensions = [_scalar(file, "<Q") for _ in range(_scalar(file, "<I"))]
    kind = GGMLQuantizationType(_scalar(file, "<I"))
    return name, tuple(reversed(dimensions)), kind, _scalar(file, "<Q")
