"""Predictions do not drift unseen."""

import json

import pytest

from tests.predict.golden import FILE, golden


def test_predictions_are_those_of_the_golden_file() -> None:
    expected = json.loads(FILE.read_text())
    found = golden()
    assert list(found) == list(expected)
    for cell, said in found.items():
        assert said == pytest.approx(expected[cell], rel=1e-4), cell
