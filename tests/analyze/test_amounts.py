"""Amounts in words."""

import pytest

from whichbits.analyze.amounts import arms, cells, cells_of, repeats, server_starts, steps


@pytest.mark.parametrize(("count", "said"), [(0, "0 arms"), (1, "1 arm"), (4, "4 arms")])
def test_one_is_singular(count: int, said: str) -> None:
    assert arms(count) == said
    assert cells(count) == said.replace("arm", "cell")
    assert steps(count) == said.replace("arm", "step")
    assert repeats(count) == said.replace("arm", "repeat")
    assert server_starts(count) == said.replace("arm", "server start")


@pytest.mark.parametrize(
    ("count", "total", "said"),
    [
        (1, 1, "the only cell"),
        (2, 2, "both cells"),
        (8, 8, "all 8 cells"),
        (3, 8, "3 of 8 cells"),
        (0, 1, "0 of 1 cell"),
    ],
)
def test_some_of_so_many(count: int, total: int, said: str) -> None:
    assert cells_of(count, total) == said
