"""Work in blocks of rows: small enough for memory, large enough for the disk, rounded by slices that fit a cache."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from whichbits.arms.codes.layouts import Pieces, Stored, layout_of
from whichbits.arms.codes.rounding import Floats, Rounded, as_float32, largest_of, round_rows
from whichbits.arms.files.shards import Shards
from whichbits.arms.files.source import read_rows
from whichbits.arms.layers import Matrix
from whichbits.arms.recipe import NIBBLES_A_WORD, Recipe
from whichbits.errors import BadInput

_CACHE_WEIGHTS = 2**17
_BLOCK_BYTES = 8 * 2**20
_TRANSPOSED_BLOCK_BYTES = 32 * 2**20
"""Transposed tensors are written in one stretch a column of the block: wider blocks, longer stretches."""

Task = TypeVar("Task")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Block:
    """Rows ``start`` to ``stop`` of a matrix."""

    matrix: Matrix
    start: int
    stop: int


def blocks_of(matrix: Matrix, recipe: Recipe) -> Iterator[Block]:
    """Cut a matrix into blocks whose borders words of eight rows do not cross."""
    size = _BLOCK_BYTES if recipe.scheme == "compressed-tensors" else _TRANSPOSED_BLOCK_BYTES
    rows = size // (matrix.weight.stored_bytes // matrix.outputs or 1)
    rows = max(rows - rows % NIBBLES_A_WORD, NIBBLES_A_WORD)
    for start in range(0, matrix.outputs, rows):
        yield Block(matrix, start, min(start + rows, matrix.outputs))


def spread(workers: int, do: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[Result]:
    """Yield results in the order of the tasks; the first error drops those that have not begun."""
    pool = ThreadPoolExecutor(workers)
    try:
        yield from pool.map(do, tasks)
    finally:
        pool.shutdown(cancel_futures=True)


def float_slices(block: Block) -> Iterator[Floats]:
    """Read a block and yield its weights as float32 [rows, inputs], a cacheful at a time."""
    raw = read_rows(block.matrix.weight, block.start, block.stop)
    a_row = len(raw) // (block.stop - block.start)
    step = slice_rows(block.matrix)
    for at in range(0, block.stop - block.start, step):
        part = raw[at * a_row : (at + step) * a_row]
        yield as_float32(part, block.matrix.weight.dtype).reshape(-1, block.matrix.inputs)


def slice_rows(matrix: Matrix) -> int:
    """Return the rows that are worked on at once."""
    return max(_CACHE_WEIGHTS // matrix.inputs, 1)


def largest_in(block: Block) -> float:
    """Return the largest magnitude among a block's weights."""
    return max(float(largest_of(values.reshape(1, -1))[0, 0]) for values in float_slices(block))


def quantise(block: Block, recipe: Recipe, scales_as: str, largest: float | None) -> Rounded:
    """Round a block.

    Raises:
        BadInput: ``arm_not_finite`` if a weight is no number, or infinite.
    """
    parts = [round_rows(values, recipe, scales_as, largest) for values in float_slices(block)]
    scales = np.concatenate([part.scales for part in parts])
    if not np.isfinite(scales).all():
        raise _not_finite(block)
    zeros = [part.zeros for part in parts if part.zeros is not None]
    return Rounded(np.concatenate([part.codes for part in parts]), scales, np.concatenate(zeros) if zeros else None)


def write_block(block: Block, pieces: Pieces, stored: Iterable[Stored], shards: Shards) -> None:
    """Put what a block of rows was rounded to where it belongs; what hangs on no row comes with the first block."""
    for tensor in stored:
        name = f"{block.matrix.module}.{tensor.role}"
        if tensor.axis is None:
            content = pieces.get(tensor.role) if tensor.constant is None else tensor.constant
            if block.start == 0 and content is not None:
                shards.write(name, 0, content)
        elif tensor.axis == 0:
            shards.write_rows(name, block.start // tensor.rows_each, pieces[tensor.role])
        else:
            shards.write_columns(name, block.start // tensor.rows_each, pieces[tensor.role])


def stored_tensors(matrix: Matrix, recipe: Recipe, scales_as: str) -> tuple[Stored, ...]:
    """Return what is stored of a quantised matrix."""
    return layout_of(recipe).tensors(matrix, recipe, scales_as)


def _not_finite(block: Block) -> BadInput:
    return BadInput(
        "arm_not_finite",
        f"{block.matrix.module} has weights that are infinite or not numbers, in rows {block.start} to {block.stop}",
        why="training diverged, a merge went wrong, or the file was damaged",
        fix="check the 16-bit model; it cannot answer well itself",
    )
