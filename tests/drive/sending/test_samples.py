"""Samples are bounded, even over time, and the same each time."""

from itertools import pairwise

from whichbits.drive.sending.samples import Samples


def test_few_are_kept_as_they_are_and_many_evenly() -> None:
    few, many = Samples(most=8), Samples(most=8)
    for value in range(5):
        few.add(value)
    for value in range(1000):
        many.add(value)

    assert few.kept() == (0, 1, 2, 3, 4)
    kept = many.kept()
    assert 4 <= len(kept) < 8
    steps = {after - before for before, after in pairwise(kept)}
    assert len(steps) == 1
    assert kept[0] < 256
    assert kept[-1] >= 1000 - 256
