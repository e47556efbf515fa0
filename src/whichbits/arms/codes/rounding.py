"""Rounding to nearest: rows of float32 weights into 8-bit or 4-bit codes with scales, and back.

Scales are rounded to the type in which they are stored before weights are divided by them, so that what the engine
multiplies by is what was divided by.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whichbits.arms.recipe import Recipe

Floats = NDArray[np.float32]
Codes = NDArray[np.uint8] | NDArray[np.int8]

FP8_MAX = 448.0
"""The largest finite number of e4m3 (OCP 8-bit floating point, 2023)."""
_INT8_MAX = 127
_INT4_LEVELS = 15
_INT4_MIDDLE = 8
_EXPONENT = 0x7F80_0000
_SMALLEST_NORMAL = 121 << 23  # 2**-6 in float32: below it, e4m3's steps no longer shrink
_MAGIC = (20 << 23) | 0x40_0000
_LEAST_SCALE = {"F16": 2.0**-20, "BF16": 2.0**-126, "F32": 2.0**-126}
_SCALE_ROWS = {"F16": np.float16, "F32": np.float32}


@dataclass(frozen=True)
class Rounded:
    """Codes [rows, inputs] (int8, e4m3 bits, or 0 to 15), scales [rows, groups] as float32, zero points or None."""

    codes: Codes
    scales: Floats
    zeros: NDArray[np.uint8] | None = None


def as_float32(raw: NDArray[np.uint8], dtype: str) -> Floats:
    """Return the numbers in bytes of type ``BF16``, ``F16`` or ``F32``."""
    if dtype == "BF16":
        wide: NDArray[np.uint32] = np.left_shift(raw.view("<u2"), 16, dtype=np.uint32)
        return wide.view(np.float32)
    stored: NDArray[np.floating] = raw.view("<f2" if dtype == "F16" else "<f4")
    return stored.astype(np.float32, copy=False)


def as_bfloat16(values: Floats) -> NDArray[np.uint16]:
    """Return the bits of the nearest bfloat16 numbers, ties to even."""
    bits = values.view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def encode(values: Floats, dtype: str) -> NDArray[np.uint8]:
    """Return float32 numbers as the bytes of type ``BF16``, ``F16`` or ``F32``."""
    stored = as_bfloat16(values) if dtype == "BF16" else values.astype(_SCALE_ROWS[dtype])
    return np.ascontiguousarray(stored).view(np.uint8)


def as_e4m3(values: Floats) -> NDArray[np.uint8]:
    """Return the bits of the nearest e4m3 numbers, ties to even, saturating at 448.

    Adding and taking away 1.5 x 2^(e+20) leaves a float32 of exponent e three bits behind its point; multiplied by
    2^-120 its exponent has e4m3's bias, and subnormal numbers line up, too.
    """
    clipped = np.clip(values, -FP8_MAX, FP8_MAX)
    bits = clipped.view(np.uint32)
    magic = (np.maximum(bits & _EXPONENT, _SMALLEST_NORMAL) + _MAGIC).view(np.float32)
    rounded: Floats = ((clipped + magic) - magic) * np.float32(2.0**-120)
    codes: NDArray[np.uint8] = (((bits >> 24) & 0x80) | ((rounded.view(np.uint32) >> 20) & 0x7F)).astype(np.uint8)
    return codes


def from_e4m3(codes: NDArray[np.uint8]) -> Floats:
    """Return the numbers that codes of e4m3 stand for; 0x7F and 0xFF, which are none, become 480."""
    wide = codes.astype(np.uint32)
    numbers = (((wide & 0x80) << 24) | ((wide & 0x7F) << 20)).view(np.float32)
    numbers *= np.float32(2.0**120)
    return numbers


def e4m3_square_steps(codes: NDArray[np.uint8]) -> Floats:
    """Return the square of the distance between neighbours at each code: 2^(2 (e - 10)) at exponent field e."""
    exponents: NDArray[np.uint8] = np.maximum((codes >> 3) & 15, 1) * np.uint8(2) + np.uint8(127 - 20)
    return (exponents.astype(np.uint32) << 23).view(np.float32)


def scale_type(dtype: str, recipe: Recipe) -> str:
    """Return the type of scales: the model's own; float16 cannot hold the small scales of whole rows."""
    return "BF16" if dtype == "BF16" else "F16" if recipe.group_size else "F32"


def round_rows(values: Floats, recipe: Recipe, scales_as: str, largest: float | None = None) -> Rounded:
    """Round rows [rows, inputs]; ``largest`` is the matrix's largest magnitude, for one scale for all of it."""
    if recipe.bits == 8:
        return _eight_bits(values, recipe, scales_as, largest)
    grouped = values.reshape(len(values), recipe.groups(values.shape[1]), -1)
    return _symmetric(grouped, scales_as) if recipe.symmetric else _asymmetric(grouped, recipe, scales_as)


def restore(rounded: Rounded, recipe: Recipe) -> Floats:
    """Return the weights that codes, scales and zero points stand for."""
    rows, inputs = rounded.codes.shape
    if recipe.kind == "float":
        return from_e4m3(rounded.codes.view(np.uint8)) * rounded.scales
    grouped = rounded.codes.astype(np.float32).reshape(rows, rounded.scales.shape[1], -1)
    if recipe.bits == 4:
        grouped -= np.float32(_INT4_MIDDLE) if rounded.zeros is None else rounded.zeros[:, :, None]
    grouped *= rounded.scales[:, :, None]
    return grouped.reshape(rows, inputs)


def expected_square_error(rounded: Rounded, recipe: Recipe) -> float:
    """Return the sum of squared errors that rounding to nearest leaves: step²/12 a weight, evenly spread in a step."""
    squares: NDArray[np.float64] = np.square(rounded.scales, dtype=np.float64)
    if recipe.kind == "float":
        steps = e4m3_square_steps(rounded.codes.view(np.uint8)).sum(axis=1)
        return float(np.dot(steps, squares[:, 0])) / 12
    a_scale: int = rounded.codes.shape[1] // rounded.scales.shape[1]
    return float(squares.sum()) * a_scale / 12


def largest_of(values: Floats) -> Floats:
    """Return the largest magnitude along the last axis, which stays with length 1."""
    highest: Floats = np.maximum(values.max(axis=-1, keepdims=True), -values.min(axis=-1, keepdims=True))
    return highest


def _eight_bits(values: Floats, recipe: Recipe, scales_as: str, largest: float | None) -> Rounded:
    size = largest_of(values) if largest is None else np.full((len(values), 1), largest, np.float32)
    if recipe.kind == "float":
        scales = _stored(size / np.float32(FP8_MAX), scales_as)
        return Rounded(as_e4m3(values / scales), scales)
    scales = _stored(size / np.float32(_INT8_MAX), scales_as)
    codes = np.clip(np.rint(values / scales), -_INT8_MAX, _INT8_MAX).astype(np.int8)
    return Rounded(codes, scales)


def _symmetric(grouped: Floats, scales_as: str) -> Rounded:
    """Spread -7.5 to 7.5 steps over a group, as compressed-tensors and GPTQ do; codes have 8 in the middle."""
    scales = _stored(largest_of(grouped) / np.float32(_INT4_LEVELS / 2), scales_as)
    codes = np.clip(np.rint(grouped / scales) + np.float32(_INT4_MIDDLE), 0, _INT4_LEVELS).astype(np.uint8)
    return Rounded(codes.reshape(len(grouped), -1), scales[:, :, 0])


def _asymmetric(grouped: Floats, recipe: Recipe, scales_as: str) -> Rounded:
    low = np.minimum(grouped.min(axis=-1, keepdims=True), 0)
    high = np.maximum(grouped.max(axis=-1, keepdims=True), 0)
    scales = _stored((high - low) / np.float32(_INT4_LEVELS), scales_as)
    # GPTQ files hold the zero point less one, in four bits: 0 could not be told from 16.
    zeros = np.clip(np.rint(-low / scales), recipe.scheme == "gptq", _INT4_LEVELS).astype(np.float32)
    codes = np.clip(np.rint(grouped / scales) + zeros, 0, _INT4_LEVELS).astype(np.uint8)
    return Rounded(codes.reshape(len(grouped), -1), scales[:, :, 0], zeros[:, :, 0].astype(np.uint8))


def _stored(scales: Floats, scales_as: str) -> Floats:
    """Return scales as they will be read; rows of zeros get one that is harmless."""
    safe = np.where(scales == 0, np.float32(1), np.maximum(scales, np.float32(_LEAST_SCALE[scales_as])))
    return as_float32(encode(safe, scales_as), scales_as).reshape(scales.shape)
