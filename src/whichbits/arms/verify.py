"""A written arm read back: each layer's error against the source, and against what rounding to nearest leaves."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from math import sqrt
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from whichbits.arms.blocks import Block, blocks_of, float_slices, slice_rows, spread, stored_tensors
from whichbits.arms.codes.layouts import Pieces, Stored, layout_of
from whichbits.arms.codes.rounding import Rounded, expected_square_error, restore
from whichbits.arms.files.source import Source, read_bytes
from whichbits.arms.layers import Matrix
from whichbits.arms.recipe import Recipe
from whichbits.checkpoint.read import from_config, read_checkpoint
from whichbits.checkpoint.safetensors import Tensor, read_tensors
from whichbits.errors import ArmMismatch, BadInput

FAR_OFF = 2.0
"""Times the expected error; wrong scales or a wrong order of packing give ten times and more."""
_WORDS = {"I64": "<i8", "I32": "<u4", "BF16": "<u2", "F16": "<u2", "F32": "<u4", "I8": "i1", "F8_E4M3": "u1"}


@dataclass(frozen=True)
class LayerError:
    """Root mean square error of a layer over that of its weights, and what rounding to nearest leads one to expect.

    ``expected`` is None where the arm was made in another way.
    """

    module: str
    relative: float
    expected: float | None


@dataclass(frozen=True)
class Bytes:
    """Bytes of all tensors: as stored, and as the sizes in config.json predict; None where they do not."""

    stored: int
    predicted: int | None


def layer_errors(
    folder: Path, matrices: Iterable[Matrix], recipe: Recipe, scales_as: Mapping[str, str], workers: int
) -> Iterator[LayerError]:
    """Read every layer of an arm back and compare it with its source.

    Raises:
        ArmMismatch: ``arm_error_too_large`` for the first layer whose error is far beyond that of rounding.
        BadInput: ``checkpoint_broken`` if a file cannot be read.
    """
    tensors = read_tensors(folder)
    chosen = list(matrices)
    measure = partial(_square_sums, tensors=tensors, recipe=recipe, scales_as=scales_as)
    sums: dict[str, NDArray[np.float64]] = defaultdict(lambda: np.zeros(3))
    blocks = [block for matrix in chosen for block in blocks_of(matrix, recipe)]
    for block, found in zip(blocks, spread(workers, measure, blocks), strict=True):
        sums[block.matrix.module] += found
    for matrix in chosen:
        error = _layer_error(matrix.module, sums[matrix.module])
        insist_on_rounding(error)
        yield error


def insist_on_rounding(error: LayerError) -> None:
    """Refuse a layer whose error is not that of rounding."""
    if error.expected is None or error.relative <= FAR_OFF * error.expected:
        return
    raise ArmMismatch(
        "arm_error_too_large",
        f"{error.module} reads back with an error of {error.relative:.1%}, where rounding leaves {error.expected:.1%}",
        why="scales or packed weights lie in another order than they are read in, or the disk changed them",
        fix="make the arm again; if it stays so, report it with the model's name",
    )


def bytes_of(folder: Path, source: Source, recipe: Recipe) -> Bytes:
    """Return the arm's bytes, once it is seen to be what it claims.

    Raises:
        ArmMismatch: ``arm_not_recognised`` if the checkpoint reader finds another method or width.
    """
    found = read_checkpoint(folder)
    claimed = (recipe.scheme, recipe.bits, recipe.bits, recipe.activation_bits)
    read = (found.quant_method, found.linear_bits, found.config_bits, found.activation_bits)
    if read != claimed:
        raise ArmMismatch(
            "arm_not_recognised",
            f"{folder.name} reads as {read}, not as {claimed} (method, stored bits, declared bits, activation bits)",
            why="config.json and the tensors do not agree",
            fix="report it with the model's name",
        )
    return Bytes(found.total_bytes, _predicted(folder, source))


def _predicted(folder: Path, source: Source) -> int | None:
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    config.setdefault("tie_word_embeddings", source.checkpoint.tied_embeddings)
    try:
        return from_config(config).total_bytes
    except BadInput:
        return None


def _square_sums(
    block: Block, tensors: Mapping[str, Tensor], recipe: Recipe, scales_as: Mapping[str, str]
) -> NDArray[np.float64]:
    """Return the sums of squared errors, of squared weights and of squared errors as expected."""
    rounded = read_block(block, tensors, recipe, scales_as[block.matrix.module])
    sums, step = np.zeros(3), slice_rows(block.matrix)
    for number, weights in enumerate(float_slices(block)):
        part = _rows(rounded, number * step, number * step + len(weights))
        error = restore(part, recipe)
        error -= weights
        sums += (_square_sum(error), _square_sum(weights), expected_square_error(part, recipe))
    return sums


def read_block(block: Block, tensors: Mapping[str, Tensor], recipe: Recipe, scales_as: str) -> Rounded:
    """Read what is stored of a block of rows."""
    pieces: Pieces = {
        stored.role: _piece(tensors[f"{block.matrix.module}.{stored.role}"], stored, block)
        for stored in stored_tensors(block.matrix, recipe, scales_as)
    }
    return layout_of(recipe).rounded(pieces, recipe, scales_as, block.stop - block.start)


def _piece(tensor: Tensor, stored: Stored, block: Block) -> NDArray[np.generic]:
    if stored.axis is None:
        return read_bytes(tensor, 0, tensor.stored_bytes).view(_WORDS[tensor.dtype])
    first, last = block.start // stored.rows_each, -(-block.stop // stored.rows_each)
    width = tensor.stored_bytes // tensor.elements
    if stored.axis == 0:
        a_row = width * tensor.shape[1]
        raw = read_bytes(tensor, first * a_row, last * a_row)
        return raw.view(_WORDS[tensor.dtype]).reshape(-1, tensor.shape[1])
    taken = np.memmap(tensor.file, _WORDS[tensor.dtype], "r", tensor.at, tensor.shape)
    return np.ascontiguousarray(taken[:, first:last])


def _rows(rounded: Rounded, start: int, stop: int) -> Rounded:
    zeros = None if rounded.zeros is None else rounded.zeros[start:stop]
    return Rounded(rounded.codes[start:stop], rounded.scales[start:stop], zeros)


def _square_sum(values: NDArray[np.float32]) -> float:
    flat = values.reshape(-1)
    return float(np.dot(flat, flat))


def _layer_error(module: str, sums: NDArray[np.float64]) -> LayerError:
    error, weights, expected = (float(each) for each in sums)
    if not weights:
        return LayerError(module, 0.0, 0.0)
    return LayerError(module, sqrt(error / weights), sqrt(expected / weights))
