"""Rounding to nearest: against ml_dtypes, by hand, and against the error that theory gives."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.arms.models import Array
from whichbits.arms.codes.rounding import (
    as_bfloat16,
    as_e4m3,
    as_float32,
    e4m3_square_steps,
    expected_square_error,
    from_e4m3,
    restore,
    round_rows,
    scale_type,
)
from whichbits.arms.recipe import Recipe, Wishes, recipes_of


def recipe(name: str, **wishes: object) -> Recipe:
    return recipes_of([name], Wishes(**wishes))[0]  # type: ignore[arg-type]


def oracle(values: Array) -> Array:
    rounded: Array = np.clip(values, -448, 448).astype(ml_dtypes.float8_e4m3fn)
    return rounded.view(np.uint8)


def test_every_sixteenth_of_a_step_of_e4m3_rounds_as_ml_dtypes_rounds() -> None:
    """All numbers, all ties between them, and points on either side of each tie."""
    numbers = np.sort(from_e4m3(np.arange(0x7F, dtype=np.uint8)))
    between = np.concatenate([numbers[:-1] + np.diff(numbers) * share / 16 for share in range(17)])
    near = np.concatenate([between, np.nextafter(between, np.float32(0)), np.nextafter(between, np.float32(1e9))])
    both = np.concatenate([near, -near]).astype(np.float32)

    assert np.array_equal(as_e4m3(both), oracle(both))


@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1, max_size=50))
def test_any_float_rounds_to_e4m3_as_ml_dtypes_rounds_it_and_saturates(values: list[float]) -> None:
    numbers = np.array(values, np.float32)

    assert np.array_equal(as_e4m3(numbers), oracle(numbers))


def test_codes_of_e4m3_stand_for_the_numbers_of_ml_dtypes() -> None:
    codes = np.delete(np.arange(256, dtype=np.uint8), [0x7F, 0xFF])

    assert np.array_equal(from_e4m3(codes), codes.view(ml_dtypes.float8_e4m3fn).astype(np.float32))


def test_steps_of_e4m3_are_the_distances_between_its_numbers() -> None:
    codes = np.arange(0x7E, dtype=np.uint8)
    gaps = np.diff(from_e4m3(np.arange(0x7F, dtype=np.uint8)))

    assert np.array_equal(np.sqrt(e4m3_square_steps(codes)), gaps)


@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1, max_size=50))
def test_bfloat16_is_that_of_ml_dtypes_there_and_back(values: list[float]) -> None:
    numbers = np.array(values, np.float32)
    with np.errstate(over="ignore"):
        expected = numbers.astype(ml_dtypes.bfloat16)

    assert np.array_equal(as_bfloat16(numbers), expected.view(np.uint16))
    assert np.array_equal(as_float32(expected.view(np.uint8), "BF16"), expected.astype(np.float32))


def test_eight_bit_integers_by_hand() -> None:
    """The largest of a row becomes 127; half a step goes to the even neighbour; a row of zeros stays one."""
    rows = np.array([[127.0, -63.5, 0.5, 1.5], [0, 0, 0, 0]], np.float32)
    rounded = round_rows(rows, recipe("w8a8-int8"), "F32")

    assert rounded.codes.tolist() == [[127, -64, 0, 2], [0, 0, 0, 0]]
    assert rounded.scales.tolist() == [[1.0], [1.0]]


def test_four_symmetric_bits_by_hand() -> None:
    """A group of eight spans 15 steps around code 8: its largest magnitude, 7.5 steps, falls on code 0."""
    rows = np.array([[-7.5, -1, 0, 0.4, 0.6, 1, 2, 7.4]], np.float32)
    rounded = round_rows(rows, recipe("w4a16", group_size=8), "F32")

    assert rounded.scales.tolist() == [[1.0]]
    assert rounded.codes.tolist() == [[0, 7, 8, 8, 9, 9, 10, 15]]
    assert rounded.zeros is None


def test_four_asymmetric_bits_by_hand() -> None:
    """From -1 to 14 there are 15 steps of one; the zero point is code 1."""
    rows = np.array([[-1, 0, 1, 2, 3, 4, 5, 14]], np.float32)
    wished = recipe("w4a16", group_size=8, symmetric=False)
    rounded = round_rows(rows, wished, "F32")

    assert rounded.codes.tolist() == [[0, 1, 2, 3, 4, 5, 6, 15]]
    assert rounded.zeros is not None
    assert rounded.zeros.tolist() == [[1]]
    assert restore(rounded, wished).tolist() == rows.tolist()


def test_a_zero_point_of_nought_is_not_written_in_gptq() -> None:
    rows = np.arange(1, 9, dtype=np.float32).reshape(1, 8)
    plain, gptq = (recipe("w4a16", group_size=8, symmetric=False, scheme=scheme) for scheme in ("awq", "gptq"))
    zeros = [round_rows(rows, each, "F32").zeros for each in (plain, gptq)]

    assert [None if each is None else each.tolist() for each in zeros] == [[[0]], [[1]]]


def test_weights_are_divided_by_the_scale_as_it_is_stored() -> None:
    """One third is no bfloat16: with the unrounded scale the largest weight would come out elsewhere."""
    rows = np.array([[127 / 3, 1, 2, 3]], np.float32)
    rounded = round_rows(rows, recipe("w8a8-int8"), "BF16")
    stored = float(np.float32(1 / 3).astype(ml_dtypes.bfloat16))

    assert rounded.scales.tolist() == [[stored]]
    assert rounded.codes.tolist() == [[127, round(1 / stored), round(2 / stored), round(3 / stored)]]


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("name", ["w8a8-int8", "w8a8-fp8", "w4a16"])
def test_the_error_is_that_of_an_even_spread_inside_each_step(name: str, symmetric: bool) -> None:
    rows = np.random.default_rng(1).normal(0, 0.02, (64, 1024)).astype(np.float32)
    wished = recipe(name, symmetric=symmetric)
    rounded = round_rows(rows, wished, "BF16")
    found = np.square(restore(rounded, wished).astype(np.float64) - rows).sum()

    assert found == pytest.approx(expected_square_error(rounded, wished), rel=0.1)


def test_scales_keep_the_models_type_but_where_float16_is_too_narrow() -> None:
    assert scale_type("BF16", recipe("w8a8-int8")) == "BF16"
    assert scale_type("F16", recipe("w4a16")) == "F16"
    assert scale_type("F16", recipe("w8a8-fp8")) == "F32"
