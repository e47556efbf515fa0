"""A GGUF file written as a 16-bit safetensors checkpoint, block by block."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType, quants
from numpy.typing import NDArray

from whichbits.arms.blocks import spread
from whichbits.arms.codes.rounding import encode
from whichbits.arms.files.folder import appearing, insist_on_free, json_text
from whichbits.arms.files.shards import Shards, Wanted
from whichbits.arms.gguf.names import config_of, heads_of, hugging_face_names, is_rotated
from whichbits.arms.gguf.tokenizer import tokenizer_files
from whichbits.errors import BadInput
from whichbits.serve.embedded.weights.gguf_header import GgufHeader, Tensor, read_gguf_header

DTYPES = {"bf16": ("BF16", "bfloat16"), "fp16": ("F16", "float16")}
_BLOCK_WEIGHTS = 2**22
_KNOWN = {
    *(GGMLQuantizationType.F32, GGMLQuantizationType.F16, GGMLQuantizationType.BF16),
    *(GGMLQuantizationType.Q8_0, GGMLQuantizationType.Q4_0, GGMLQuantizationType.Q4_1),
    *(GGMLQuantizationType.Q5_0, GGMLQuantizationType.Q5_1),
    *(GGMLQuantizationType.Q4_K, GGMLQuantizationType.Q5_K, GGMLQuantizationType.Q6_K),
}


@dataclass(frozen=True)
class _Rows:
    """Rows ``start`` to ``stop`` of a tensor that gets ``name``."""

    name: str
    tensor: Tensor
    start: int
    stop: int


def convert_gguf(gguf: Path, target: Path, weight_format: str, workers: int) -> None:
    """Write the checkpoint folder ``target``, which appears only when it is whole; ``bf16`` or ``fp16``.

    Narrow weights are only widened: the checkpoint holds what the file holds, not what it was made of.

    Raises:
        BadInput: ``embedded_bad_gguf``, ``gguf_unsupported``, ``gguf_tokenizer``, ``arm_exists`` or ``arm_no_room``.
    """
    header = read_gguf_header(gguf)
    names = hugging_face_names(header)
    _insist_on_types(header)
    _insist_on_data(gguf, header, names)
    dtype, torch_name = DTYPES[weight_format]
    files = {"config.json": config_of(header, torch_name), **tokenizer_files(header)}
    wanted = [Wanted(name, dtype, tensor.shape) for name, tensor in names.items()]
    insist_on_free(target.parent, sum(each.stored_bytes for each in wanted))
    with appearing(target) as folder:
        for name, content in files.items():
            (folder / name).write_text(json_text(content), encoding="utf-8")
        tasks = [rows for name, tensor in names.items() for rows in _blocks(header, name, tensor)]
        with Shards(folder, wanted) as shards:
            write = partial(_write, gguf=gguf, header=header, dtype=dtype, shards=shards)
            for _ in spread(workers, write, tasks):
                pass


def _blocks(header: GgufHeader, name: str, tensor: Tensor) -> Iterator[_Rows]:
    """Cut a tensor where heads end, so that their rows can be put in order inside a block."""
    rows = tensor.shape[0]
    each = rows // heads_of(header, name) if is_rotated(header, name) else 1
    step = max(_BLOCK_WEIGHTS // (tensor.parameters // rows) // each, 1) * each
    for start in range(0, rows, step):
        yield _Rows(name, tensor, start, min(start + step, rows))


def _write(rows: _Rows, gguf: Path, header: GgufHeader, dtype: str, shards: Shards) -> None:
    values = _values(rows, gguf)
    if is_rotated(header, rows.name):
        values = unrotated(values, rows.tensor.shape[0] // heads_of(header, rows.name))
    a_row = 2 * rows.tensor.parameters // rows.tensor.shape[0]
    shards.write(rows.name, rows.start * a_row, encode(values, dtype))


def _values(rows: _Rows, gguf: Path) -> NDArray[np.float32]:
    a_row = rows.tensor.bytes // rows.tensor.shape[0]
    raw = np.fromfile(gguf, np.uint8, (rows.stop - rows.start) * a_row, offset=rows.tensor.offset + rows.start * a_row)
    values: NDArray[np.float32] = quants.dequantize(raw.reshape(rows.stop - rows.start, -1), rows.tensor.type)
    return np.ascontiguousarray(values.reshape(rows.stop - rows.start, *rows.tensor.shape[1:]), np.float32)


def unrotated(rows: NDArray[np.float32], head_rows: int) -> NDArray[np.float32]:
    """Put the rows of whole heads from GGUF's order into transformers'.

    GGUF has the two numbers that turn together beside each other, transformers half a head apart.
    """
    pairs = rows.reshape(-1, head_rows // 2, 2, *rows.shape[1:])
    return np.ascontiguousarray(pairs.swapaxes(1, 2)).reshape(rows.shape)


def _insist_on_types(header: GgufHeader) -> None:
    other = sorted({tensor.type.name for tensor in header.tensors if tensor.type not in _KNOWN})
    if other:
        raise BadInput(
            "gguf_unsupported",
            f"the GGUF file holds tensors of type {', '.join(other)}",
            why="the types that can be widened here are F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5 and the K types",
            fix="fetch the file in F16 or Q8_0",
        )


def _insist_on_data(gguf: Path, header: GgufHeader, names: Mapping[str, Tensor]) -> None:
    """Refuse a file that ends before its tensors do, or whose rows are no whole blocks or heads."""
    size = gguf.stat().st_size
    for name, tensor in names.items():
        elements, _ = GGML_QUANT_SIZES[tensor.type]
        whole = min(tensor.shape, default=0) > 0 and tensor.shape[-1] % elements == 0
        heads = 2 * heads_of(header, name) if whole and is_rotated(header, name) else 1
        if not whole or tensor.shape[0] % heads or tensor.offset + tensor.bytes > size:
            raise BadInput(
                "embedded_bad_gguf",
                f"{gguf} does not hold its tensor {tensor.name} of {list(tensor.shape)}",
                why="the file was cut short, or its header is wrong",
                fix="download or convert the file again",
            )
