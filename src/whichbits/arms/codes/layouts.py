"""How a quantised matrix lies in a file: tensors by scheme, the pieces that a block of rows fills, and back."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from whichbits.arms.codes.packing import AWQ_ORDER, pack, pack_rows, unpack, unpack_rows
from whichbits.arms.codes.rounding import Codes, Rounded, as_float32, encode
from whichbits.arms.layers import Matrix
from whichbits.arms.recipe import NIBBLES_A_WORD, Recipe

Piece = NDArray[Any]
Pieces = Mapping[str, Piece]


@dataclass(frozen=True)
class Stored:
    """A tensor of a quantised matrix. ``axis`` is where the matrix's rows lie, ``rows_each`` of them in one entry.

    A tensor with ``axis`` None does not hang on rows: its content is ``constant``, or comes with the first block.
    """

    role: str
    dtype: str
    shape: tuple[int, ...]
    axis: int | None
    rows_each: int = 1
    constant: Piece | None = None


class Layout(Protocol):
    """One scheme."""

    def tensors(self, matrix: Matrix, recipe: Recipe, scales_as: str) -> tuple[Stored, ...]:
        """Return what is stored of a matrix."""
        ...

    def pieces(self, rounded: Rounded, recipe: Recipe, scales_as: str) -> Pieces:
        """Return what a block of rows puts into each tensor that hangs on rows, two-dimensional."""
        ...

    def rounded(self, pieces: Pieces, recipe: Recipe, scales_as: str, rows: int) -> Rounded:
        """Return what ``pieces`` were made of."""
        ...


class Plain:
    """compressed-tensors' int-quantized and float-quantized: a byte a weight, a scale a row or one for all."""

    def tensors(self, matrix: Matrix, recipe: Recipe, scales_as: str) -> tuple[Stored, ...]:
        """Return ``weight`` and ``weight_scale``."""
        code = "I8" if recipe.kind == "int" else "F8_E4M3"
        one = recipe.strategy == "tensor"
        scale = Stored("weight_scale", scales_as, (1,) if one else (matrix.outputs, 1), None if one else 0)
        return Stored("weight", code, (matrix.outputs, matrix.inputs), 0), scale

    def pieces(self, rounded: Rounded, recipe: Recipe, scales_as: str) -> Pieces:
        """Return both."""
        scales = rounded.scales[:1] if recipe.strategy == "tensor" else rounded.scales
        return {"weight": rounded.codes, "weight_scale": _scales(scales, scales_as)}

    def rounded(self, pieces: Pieces, recipe: Recipe, scales_as: str, rows: int) -> Rounded:
        """Return codes and scales, one a row in either case."""
        stored = pieces["weight"]
        codes: Codes = stored.view(np.int8) if recipe.kind == "int" else stored.view(np.uint8)
        scales = _numbers(pieces["weight_scale"], scales_as).reshape(-1, 1)
        return Rounded(codes, np.broadcast_to(scales, (rows, 1)))


class Packed:
    """compressed-tensors' pack-quantized: words along the inputs; zero points, if any, in words along the outputs."""

    def tensors(self, matrix: Matrix, recipe: Recipe, scales_as: str) -> tuple[Stored, ...]:
        """Return ``weight_packed``, ``weight_scale``, ``weight_shape`` and perhaps ``weight_zero_point``."""
        groups = recipe.groups(matrix.inputs)
        shape = np.array([matrix.outputs, matrix.inputs], "<i8")
        always = (
            Stored("weight_packed", "I32", (matrix.outputs, matrix.inputs // NIBBLES_A_WORD), 0),
            Stored("weight_scale", scales_as, (matrix.outputs, groups), 0),
            Stored("weight_shape", "I64", (2,), None, constant=shape),
        )
        if recipe.symmetric:
            return always
        words = -(-matrix.outputs // NIBBLES_A_WORD)
        return *always, Stored("weight_zero_point", "I32", (words, groups), 0, NIBBLES_A_WORD)

    def pieces(self, rounded: Rounded, recipe: Recipe, scales_as: str) -> Pieces:
        """Return words and scales, and zero points where the recipe has them."""
        del recipe
        found = {"weight_packed": pack(_nibbles(rounded)), "weight_scale": _scales(rounded.scales, scales_as)}
        return found if rounded.zeros is None else found | {"weight_zero_point": pack_rows(rounded.zeros)}

    def rounded(self, pieces: Pieces, recipe: Recipe, scales_as: str, rows: int) -> Rounded:
        """Unpack."""
        zeros = None if recipe.symmetric else unpack_rows(pieces["weight_zero_point"], rows)
        return Rounded(unpack(pieces["weight_packed"]), _numbers(pieces["weight_scale"], scales_as), zeros)


class Gptq:
    """GPTQ's first format: words along the inputs, all transposed, and zero points stored less one."""

    def tensors(self, matrix: Matrix, recipe: Recipe, scales_as: str) -> tuple[Stored, ...]:
        """Return ``qweight``, ``qzeros``, ``scales`` and ``g_idx``."""
        groups = recipe.groups(matrix.inputs)
        order = (np.arange(matrix.inputs) // (recipe.group_size or matrix.inputs)).astype("<i4")
        return (
            Stored("qweight", "I32", (matrix.inputs // NIBBLES_A_WORD, matrix.outputs), 1),
            Stored("qzeros", "I32", (groups, matrix.outputs // NIBBLES_A_WORD), 1, NIBBLES_A_WORD),
            Stored("scales", scales_as, (groups, matrix.outputs), 1),
            Stored("g_idx", "I32", (matrix.inputs,), None, constant=order),
        )

    def pieces(self, rounded: Rounded, recipe: Recipe, scales_as: str) -> Pieces:
        """Return the columns of this block of rows."""
        del recipe
        zeros = _zeros(rounded)
        return {
            "qweight": pack(_nibbles(rounded)).T,
            "qzeros": pack_rows(zeros - np.uint8(1)).T,
            "scales": _scales(rounded.scales, scales_as).T,
        }

    def rounded(self, pieces: Pieces, recipe: Recipe, scales_as: str, rows: int) -> Rounded:
        """Unpack."""
        zeros = unpack_rows(pieces["qzeros"].T, rows) + np.uint8(1)
        scales = _numbers(pieces["scales"], scales_as).T
        return Rounded(unpack(pieces["qweight"].T), scales, None if recipe.symmetric else zeros)


class Awq:
    """AWQ's GEMM format: words along the outputs in an order of their own, all transposed."""

    def tensors(self, matrix: Matrix, recipe: Recipe, scales_as: str) -> tuple[Stored, ...]:
        """Return ``qweight``, ``qzeros`` and ``scales``."""
        groups, words = recipe.groups(matrix.inputs), matrix.outputs // NIBBLES_A_WORD
        return (
            Stored("qweight", "I32", (matrix.inputs, words), 1, NIBBLES_A_WORD),
            Stored("qzeros", "I32", (groups, words), 1, NIBBLES_A_WORD),
            Stored("scales", scales_as, (groups, matrix.outputs), 1),
        )

    def pieces(self, rounded: Rounded, recipe: Recipe, scales_as: str) -> Pieces:
        """Return the columns of this block of rows."""
        del recipe
        return {
            "qweight": pack_rows(_nibbles(rounded), AWQ_ORDER).T,
            "qzeros": pack_rows(_zeros(rounded), AWQ_ORDER).T,
            "scales": _scales(rounded.scales, scales_as).T,
        }

    def rounded(self, pieces: Pieces, recipe: Recipe, scales_as: str, rows: int) -> Rounded:
        """Unpack."""
        del recipe
        codes, zeros = (unpack_rows(pieces[role].T, rows, AWQ_ORDER) for role in ("qweight", "qzeros"))
        return Rounded(codes, _numbers(pieces["scales"], scales_as).T, zeros)


def layout_of(recipe: Recipe) -> Layout:
    """Return the layout of a recipe."""
    return Plain() if recipe.bits == 8 else _FOUR_BITS[recipe.scheme]


_FOUR_BITS: Mapping[str, Layout] = {"compressed-tensors": Packed(), "gptq": Gptq(), "awq": Awq()}


def _nibbles(rounded: Rounded) -> NDArray[np.uint8]:
    return rounded.codes.view(np.uint8)


def _zeros(rounded: Rounded) -> NDArray[np.uint8]:
    return np.full(rounded.scales.shape, 8, np.uint8) if rounded.zeros is None else rounded.zeros


def _scales(scales: NDArray[np.float32], scales_as: str) -> Piece:
    """Return scales as they are stored, one number an entry."""
    return encode(scales, scales_as).view("<u2" if scales_as in ("BF16", "F16") else "<u4").reshape(scales.shape)


def _numbers(stored: Piece, scales_as: str) -> NDArray[np.float32]:
    flat = as_float32(np.ascontiguousarray(stored).view(np.uint8).reshape(-1), scales_as)
    return flat.reshape(stored.shape)
