"""When requests are due: each pattern's rate and spread, worked out by hand, and goldens that catch a drift."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from tests.traffic.studies import planned
from whichbits.study.arrivals import AnyArrivals, Arrivals
from whichbits.study.model import CellSize, Load
from whichbits.traffic.arrivals import drawn_offsets_ns, request_count
from whichbits.traffic.draws import Draws, Floats

STEPS = {
    "kind": "stages",
    "stages": [{"share": 1, "seconds": 0.2}, {"share": 0, "seconds": 1}, {"share": 4, "seconds": 0.1}],
}
RAMP = {"kind": "ramp", "start": 0.5, "end": 2}


def read(written: Any) -> AnyArrivals:
    arrivals: AnyArrivals = TypeAdapter(Arrivals).validate_python(written)
    return arrivals


def offsets(written: Any, rate: float, count: int, seed: int = 7) -> list[int]:
    return drawn_offsets_ns(read(written), Draws(seed, "arrivals", "10/s"), rate, count)


def gaps_s(written: Any, rate: float, count: int) -> Floats:
    return np.diff([0, *offsets(written, rate, count)]) / 1e9


@pytest.mark.parametrize(
    ("written", "golden"),
    [
        ("constant", [100000000, 200000000, 300000000, 400000000]),
        ("poisson", [64547007, 250024743, 473618855, 476033925]),
        ({"kind": "gamma", "burstiness": 0.5}, [378803706, 412639351, 448822809, 524496018]),
        ({"kind": "gamma", "burstiness": 4}, [125243672, 191729059, 335912144, 427706775]),
        (RAMP, [98669837, 270831563, 413337656, 414684011]),
        (STEPS, [64547007, 1212506185, 1268404713, 1269008481]),
    ],
)
def test_arrivals_never_change(written: Any, golden: list[int]) -> None:
    """To the nanosecond but one: the last bit of a logarithm may differ between processors."""
    count = 6 if written is RAMP or written is STEPS else 4

    assert offsets(written, 10, count)[:4] == pytest.approx(golden, abs=1)


@pytest.mark.parametrize(("burstiness", "spread"), [(0.25, 2.0), (1.0, 1.0), (4.0, 0.5), (100.0, 0.1)])
def test_gamma_gaps_have_the_load_s_mean_and_the_burstiness_s_spread(burstiness: float, spread: float) -> None:
    gaps = gaps_s({"kind": "gamma", "burstiness": burstiness}, 20, 40_000)

    assert gaps.mean() == pytest.approx(0.05, rel=0.03)
    assert gaps.std() / gaps.mean() == pytest.approx(spread, rel=0.03)


def test_poisson_is_gamma_of_burstiness_one_and_is_not_rescaled() -> None:
    poisson = offsets("poisson", 5, 50)

    assert poisson == offsets({"kind": "gamma"}, 5, 50)
    assert len({offsets("poisson", 5, 50, seed)[-1] for seed in range(5)}) == 5


def test_a_ramp_from_nothing_has_come_to_half_after_the_root_of_half() -> None:
    """Rate 10, from 0 to 1: 50 requests take T = 10 s; k are due at sqrt(2 T k / rate) = sqrt(2 k)."""
    ramp = read({"kind": "ramp", "burstiness": 10_000})
    due = np.array(drawn_offsets_ns(ramp, Draws(0, "a"), 10, 50)) / 1e9

    assert due == pytest.approx(np.sqrt(2 * np.arange(1, 51)), rel=0.02)


def test_a_ramp_down_to_nothing_ends() -> None:
    due = offsets({"kind": "ramp", "start": 2, "end": 0}, 10, 400)

    assert due == sorted(due)
    assert due[-1] < 80e9


def test_stages_send_their_share_and_pause() -> None:
    """At rate 1000: 200 in 0.2 s, a pause of 1 s, 400 in 0.1 s, and the same again."""
    due = np.array(offsets(STEPS, 1000, 1200)) / 1e9
    counted = [np.sum((low <= due) & (due < high)) for low, high in ((0, 0.2), (0.2, 1.2), (1.2, 1.3), (1.3, 1.5))]

    assert counted[1] == 0
    assert [counted[0], counted[2], counted[3]] == pytest.approx([200, 400, 200], abs=60)
    assert due[-1] == pytest.approx(2.6, abs=0.1)


@settings(deadline=None)
@given(
    shares=st.lists(st.tuples(st.floats(0, 5), st.floats(0.01, 9)), min_size=1, max_size=4),
    rate=st.floats(0.1, 1000),
    count=st.integers(1, 200),
)
def test_any_stages_give_ordered_finite_times(shares: list[tuple[float, float]], rate: float, count: int) -> None:
    stages = [{"share": 1, "seconds": 1}, *({"share": share, "seconds": seconds} for share, seconds in shares)]
    due = offsets({"kind": "stages", "stages": stages}, rate, count)

    assert due == sorted(due)
    assert len(due) == count


def test_the_number_of_requests_of_stages_is_what_they_come_to() -> None:
    size, load = CellSize(at_most=100), Load(request_rate=1000)

    assert request_count(size, load, read(STEPS)) == 600
    assert request_count(CellSize(requests=7), load, read(STEPS)) == 7
    assert request_count(size, Load(concurrency=2), read(STEPS)) == 16


@pytest.mark.parametrize("written", ["constant", "poisson", {"kind": "gamma", "burstiness": 0.3}, RAMP, STEPS])
def test_every_pattern_sends_exactly_the_cell(written: Any) -> None:
    requests = planned({"kind": "random"}, 37, rate=3.5, arrivals=written)
    due = [request.offset_ns for request in requests]

    assert len(requests) == 37
    assert due == sorted(due, key=lambda offset: offset or 0)
    assert None not in due
    assert {request.offset_ns for request in planned({"kind": "random"}, 5, arrivals=written)} == {None}


def test_arrivals_are_the_same_in_every_repeat() -> None:
    first, again = (planned({"kind": "random"}, 20, rate=2.0, repeat=repeat) for repeat in (0, 3))

    assert [request.offset_ns for request in first] == [request.offset_ns for request in again]
    assert {request.prompt for request in first}.isdisjoint({request.prompt for request in again})
