"""docs/roofline.md names every key of what it explains."""

import re
from dataclasses import fields
from typing import Any

import pytest

from tests.docs.pages import page
from whichbits.analyze.engine.cold_start import ColdStart
from whichbits.analyze.latency.itl_modes import ItlMode, ItlModes
from whichbits.analyze.latency.prefill_steps import PrefillSteps
from whichbits.analyze.limits.capacity import Capacity
from whichbits.analyze.limits.roofline import Accounting, Roofline, StepSplit
from whichbits.analyze.summary import LatencySplit, TtftByCache

NAMED = set(re.findall(r"`(\w+)`", page("roofline.md")))


KINDS = [
    Roofline,
    Accounting,
    StepSplit,
    Capacity,
    ItlModes,
    ItlMode,
    PrefillSteps,
    LatencySplit,
    TtftByCache,
    ColdStart,
]


@pytest.mark.parametrize("kind", KINDS)
def test_every_key_is_named(kind: type[Any]) -> None:
    assert {field.name for field in fields(kind)} - NAMED == set()
