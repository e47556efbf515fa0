"""Columns become arrays with what they hold: slices from their own start, nulls as NaN or refused."""

import numpy as np
import pyarrow as pa
import pytest

from whichbits.record.arrays import booleans, floats, integers


def test_null_is_nan_in_numbers() -> None:
    assert np.array_equal(floats(pa.chunked_array([[1, None], [3]])), [1.0, np.nan, 3.0], equal_nan=True)


def test_a_slice_begins_where_it_begins() -> None:
    column = pa.chunked_array([pa.array([1, 2, 3, 4, 5], pa.int32())]).slice(2, 2)

    assert integers(column).tolist() == [3, 4]
    assert floats(column).tolist() == [3.0, 4.0]
    assert booleans(pa.chunked_array([[True, False, True, True]]).slice(1, 3)).tolist() == [False, True, True]


def test_nothing_is_an_empty_array() -> None:
    assert integers(pa.chunked_array([], pa.int64())).size == 0
    assert booleans(pa.chunked_array([], pa.bool_())).size == 0


def test_whole_numbers_and_truths_cannot_be_missing() -> None:
    with pytest.raises(ValueError, match="null: 1 of 2 values"):
        integers(pa.chunked_array([[1, None]]))
    with pytest.raises(ValueError, match="null: 1 of 2 values"):
        booleans(pa.chunked_array([[True, None]]))
