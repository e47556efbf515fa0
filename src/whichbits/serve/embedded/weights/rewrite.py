"""One checkpoint in another GGUF type: every linear layer dequantised once and stored again."""

from pathlib import Path

import numpy as np
from gguf import GGMLQuantizationType, GGUFWriter, quants
from numpy.typing import NDArray

from whichbits.serve.embedded.weights.gguf_header import GgufHeader, Tensor, read_gguf_header

_FILE_TYPES = {GGMLQuantizationType.F16: 1, GGMLQuantizationType.Q4_0: 2, GGMLQuantizationType.Q8_0: 7}
_EMBEDDINGS = ("token_embd.weight", "output.weight")
_WRITTEN_BY_THE_WRITER = ("general.architecture", "general.file_type", "general.alignment")


def rewrite_gguf(source: Path, target: Path, linear_type: GGMLQuantizationType) -> None:
    """Write ``source`` to ``target`` with its linear layers as ``linear_type`` (F16, Q8_0 or Q4_0).

    Embeddings and the output layer stay at 8 bits or more, vectors at 32, as quantised releases do it.
    Rounding is that of ``gguf.quants``, the reference of the format.
    """
    header = read_gguf_header(source)
    data = np.memmap(source, np.uint8, "r")
    writer = GGUFWriter(target, header.architecture)
    _copy_keys(header, writer)
    writer.add_file_type(_FILE_TYPES[linear_type])
    for tensor in header.tensors:
        stored = stored_type(tensor, linear_type)
        writer.add_tensor(tensor.name, quants.quantize(values(tensor, data), stored), raw_dtype=stored)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def stored_type(tensor: Tensor, linear_type: GGMLQuantizationType) -> GGMLQuantizationType:
    """Return the type in which a tensor of a model in ``linear_type`` is stored."""
    if len(tensor.shape) == 1:
        return GGMLQuantizationType.F32
    if tensor.name in _EMBEDDINGS and linear_type is not GGMLQuantizationType.F16:
        return GGMLQuantizationType.Q8_0
    return linear_type


def values(tensor: Tensor, data: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Return a tensor's values as float32 [rows, columns] from the bytes of its file."""
    raw = data[tensor.offset : tensor.offset + tensor.bytes]
    rows = raw.reshape(*tensor.shape[:-1], -1)
    dequantised: NDArray[np.float32] = quants.dequantize(rows, tensor.type)
    return dequantised.reshape(tensor.shape)


def _copy_keys(header: GgufHeader, writer: GGUFWriter) -> None:
    for name, key in header.keys.items():
        if name not in _WRITTEN_BY_THE_WRITER:
            writer.add_key_value(name, key.value, key.type, sub_type=key.element_type)
