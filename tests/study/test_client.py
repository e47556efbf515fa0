"""Who sends: a number of workers, or the word for as many as the load needs."""

from typing import Any

import pytest
from pydantic import ValidationError

from whichbits.study.client import ClientPlan


@pytest.mark.parametrize("workers", ["auto", 1, 12])
def test_workers_are_counted_or_left_to_the_load(workers: Any) -> None:
    assert ClientPlan.model_validate({"workers": workers}).workers == workers


def test_by_default_the_load_decides() -> None:
    assert ClientPlan().workers == "auto"


@pytest.mark.parametrize("workers", [0, -1, 1.5, "many", None])
def test_nobody_and_nonsense_are_refused(workers: Any) -> None:
    with pytest.raises(ValidationError):
        ClientPlan.model_validate({"workers": workers})
