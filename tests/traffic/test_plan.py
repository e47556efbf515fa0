"""What is sent is decided by the study alone: exact counts, right means, the same ids for every arm."""

from collections import Counter
from hashlib import sha256
from statistics import mean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whichbits.study.model import CellSize, Load, Study
from whichbits.study.read import quickstart
from whichbits.traffic.draws import Draws
from whichbits.traffic.lengths import log_normal_lengths
from whichbits.traffic.plan import PlannedRequest, plan_cell, plan_warm_up, request_count


def study(**changes: object) -> Study:
    return Study.model_validate(quickstart().model_dump(mode="json") | changes)


def test_the_draws_never_change() -> None:
    """These literals hold the traffic of every published study: a change breaks their replay."""
    draws = Draws(7, "ids", "c4", "repeat", 0)

    assert draws.integers(1000, 30000, 4).tolist() == [17983, 27536, 24577, 24591]


@pytest.mark.parametrize(
    ("traffic", "closed", "open_loop"),
    [
        ({"kind": "chat"}, "79deef09eb0686aa", "9a00186b50896aff"),
        ({"kind": "random", "range_ratio": 0.3}, "8df2222e782f7ee8", "b46500dfb54bcedd"),
        ({"kind": "prefix_repetition", "prefix_tokens": 64, "prefixes": 5}, "6d3566e74323f798", "6d12123a3fb33941"),
    ],
)
def test_plans_never_change(traffic: dict[str, object], closed: str, open_loop: str) -> None:
    """Digests of whole plans as they were before other kinds of traffic came: published studies replay the same."""
    asked = study(traffic=traffic, cell={"requests": 33}, seed=5)

    assert digest(plan_cell(asked, Load(concurrency=4), 1)) == closed
    assert digest(plan_cell(asked, Load(request_rate=2.5), 1)) == open_loop


def digest(requests: list[PlannedRequest]) -> str:
    told = ((each.index, each.prompt, each.output_tokens, each.offset_ns, each.prefix) for each in requests)
    return sha256("".join(map(repr, told)).encode()).hexdigest()[:16]


def test_two_plans_of_a_cell_are_equal() -> None:
    load = Load(concurrency=16, request_rate=4.0)

    assert plan_cell(quickstart(), load, 1) == plan_cell(quickstart(), load, 1)


def test_cells_share_no_prompt_but_repeats_share_their_lengths() -> None:
    first, second = plan_cell(quickstart(), Load(concurrency=4), 0), plan_cell(quickstart(), Load(concurrency=4), 1)
    other = plan_cell(quickstart(), Load(concurrency=16), 0)
    warm = plan_warm_up(quickstart(), 0) + plan_warm_up(quickstart(), 1)
    prompts = [request.prompt for requests in (first, second, other, warm) for request in requests]

    assert len(set(prompts)) == len(prompts)
    assert [len(request.prompt) for request in first] == [len(request.prompt) for request in second]


@pytest.mark.parametrize("load", [1, 4, 16, 32])
def test_chat_keeps_the_asked_means_in_cells_of_any_size(load: int) -> None:
    requests = plan_cell(quickstart(), Load(concurrency=load), 0)

    assert mean(len(request.prompt) for request in requests) == pytest.approx(48, rel=0.02)
    assert mean(request.output_tokens for request in requests) == pytest.approx(32, rel=0.02)


@given(count=st.integers(1, 400), mean_tokens=st.integers(1, 3000), sigma=st.floats(0.05, 1.5), seed=st.integers(0, 99))
def test_log_normal_lengths_have_their_mean_and_bounds(count: int, mean_tokens: int, sigma: float, seed: int) -> None:
    longest = 8 * mean_tokens
    lengths = log_normal_lengths(Draws(seed, "lengths"), count, mean_tokens, sigma, longest)

    assert lengths.min() >= 1
    assert lengths.max() <= longest
    # Rounding moves each length by half a token, and the floor of one token lifts the shortest.
    assert lengths.mean() == pytest.approx(mean_tokens, abs=1.0)


@given(count=st.integers(1, 300), prefixes=st.integers(1, 40))
def test_prefixes_are_used_equally_and_no_remainder_is_dropped(count: int, prefixes: int) -> None:
    traffic = {"kind": "prefix_repetition", "prefix_tokens": 8, "suffix_tokens": 2, "prefixes": prefixes}
    requests = plan_cell(study(traffic=traffic, cell={"requests": count}), Load(concurrency=4), 0)
    uses = Counter(request.prefix for request in requests)

    assert len(requests) == count
    assert max(uses.values()) - min(uses.values()) <= 1
    assert len(uses) == min(count, prefixes)
    for request in requests:
        assert len(request.prompt) == 10
    for prefix in uses:
        assert len({request.prompt[:8] for request in requests if request.prefix == prefix}) == 1


def test_random_lengths_stay_in_their_range() -> None:
    traffic = {"kind": "random", "input_tokens": 100, "output_tokens": 10, "range_ratio": 0.2}
    requests = plan_cell(study(traffic=traffic, cell={"requests": 50}), Load(concurrency=4), 0)

    assert {len(request.prompt) for request in requests} <= set(range(80, 121))
    assert {request.output_tokens for request in requests} <= set(range(8, 13))


def test_ids_stay_in_the_asked_range() -> None:
    requests = plan_cell(study(token_ids=[5, 8]), Load(concurrency=16), 0)

    assert {token for request in requests for token in request.prompt} == {5, 6, 7}


def test_poisson_arrivals_have_their_rate_and_a_closed_loop_has_none() -> None:
    open_loop = plan_cell(study(cell={"requests": 4000}), Load(request_rate=10), 0)
    offsets = [request.offset_ns for request in open_loop if request.offset_ns is not None]
    gaps = [after - before for before, after in zip([0, *offsets[:-1]], offsets, strict=True)]

    assert len(offsets) == 4000
    assert mean(gaps) == pytest.approx(1e8, rel=0.05)
    assert mean(gap > 1e8 for gap in gaps) == pytest.approx(0.3679, abs=0.03)  # e**-1 of them exceed the mean
    assert {request.offset_ns for request in plan_cell(quickstart(), Load(concurrency=4), 0)} == {None}


@pytest.mark.parametrize(
    ("size", "load", "count"),
    [
        (CellSize(requests=7), Load(concurrency=100), 7),
        (CellSize(per_stream=4, at_least=16, at_most=100), Load(concurrency=1), 16),
        (CellSize(per_stream=4, at_least=16, at_most=100), Load(concurrency=10), 40),
        (CellSize(per_stream=4, at_least=16, at_most=100), Load(concurrency=64), 100),
        (CellSize(seconds=30), Load(request_rate=2.5), 75),
        (CellSize(seconds=30), Load(request_rate=2.5, concurrency=4), 75),
    ],
)
def test_the_size_of_a_cell(size: CellSize, load: Load, count: int) -> None:
    assert request_count(size, load) == count


def test_a_later_warm_up_of_a_server_has_other_prompts() -> None:
    asked = quickstart()
    rounds = [plan_warm_up(asked, number, visit) for visit in (0, 1, 2) for number in (0, 1)]
    prompts = [request.prompt for planned in rounds for request in planned]

    assert len(set(prompts)) == len(prompts)
