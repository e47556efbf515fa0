"""Words of eight codes, by hand, in the three orders that engines read."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from whichbits.arms.codes.packing import AWQ_ORDER, pack, pack_rows, unpack, unpack_rows

EIGHT = np.array([[1, 2, 3, 4, 5, 6, 7, 8]], np.uint8)


def test_along_the_inputs_the_first_code_is_in_the_lowest_bits() -> None:
    assert pack(EIGHT).tolist() == [[0x87654321]]


def test_down_the_rows_the_first_row_is_in_the_lowest_bits() -> None:
    two = np.concatenate([EIGHT, EIGHT[:, ::-1]]).T

    assert pack_rows(two).tolist() == [[0x87654321, 0x12345678]]


def test_awq_puts_codes_0_2_4_6_1_3_5_7_from_the_lowest_bits_up() -> None:
    assert pack_rows(EIGHT.T, AWQ_ORDER).tolist() == [[0x86427531]]


def test_missing_rows_are_zeros() -> None:
    assert pack_rows(EIGHT.T[:3]).tolist() == [[0x321]]


@given(arrays(np.uint8, (16, 24), elements=st.integers(0, 15)))
def test_packing_is_undone(codes: np.ndarray) -> None:
    assert np.array_equal(unpack(pack(codes)), codes)
    assert np.array_equal(unpack_rows(pack_rows(codes), 16), codes)
    assert np.array_equal(unpack_rows(pack_rows(codes, AWQ_ORDER), 16, AWQ_ORDER), codes)
    assert np.array_equal(unpack_rows(pack_rows(codes[:11]), 11), codes[:11])
