"""Of several open questions, the search takes the step that closes most for its time, and stops in good time."""

import math
from dataclasses import replace

import numpy as np
import pytest

from tests.conduct.simulated_search import World, decoding
from whichbits.conduct.searching.choice import (
    ANSWERED,
    BUDGET_SPENT,
    NOTHING_TO_COMPARE,
    SWEEP,
    Wanted,
    choose,
    wanting_seconds,
)
from whichbits.conduct.searching.standing import bought, standing

CROSSING = {"a": decoding(5, 0.5), "b": decoding(10, 0.25)}
"""5 + 0.5 x = 10 + 0.25 x at 20."""
APART = {"a": decoding(5, 0.25), "b": decoding(10, 0.5)}


def the_range(world: World, name: str) -> tuple[float, float]:
    """The one range in which the answer is known to lie."""
    known = standing(world.situation())[name]
    assert not isinstance(known, str)
    (found,) = known
    return found


def test_the_crossing_is_placed_as_well_as_asked() -> None:
    world = World(CROSSING)

    assert world.run() == ANSWERED
    low, high = the_range(world, "the crossing of a / b in median TPOT")
    assert low < 20 < high
    assert high / low <= 1.1**2 + 1e-9
    assert world.loads()[:5] == [1, 4, 16, 64, 256]
    assert all(4 < load < 64 for load in world.loads()[5:])


def test_a_steady_lead_needs_the_sweep_only() -> None:
    world = World(APART)

    assert world.run() == ANSWERED
    assert world.loads() == [1, 4, 16, 64, 256]


@pytest.mark.parametrize("budget", [0.0, 15.0, 45.0, 130.0, 200.0])
def test_the_budget_is_kept(budget: float) -> None:
    world = World({"a": decoding(5, 0.5), "b": decoding(9, 0.3)}, budget=budget, noise=0.05)

    assert world.run() == BUDGET_SPENT
    assert budget - 25 <= world.spent <= budget or world.spent == 0


def test_what_the_dear_load_leaves_unsaid_is_asked_at_one_that_the_budget_affords() -> None:
    world = World(CROSSING, seconds=lambda load: 100.0 if load == 1 else 1.0, noise=0.04, budget=280)
    world.run()

    assert world.loads().count(1) == 1
    assert len(world.loads()) > 6
    assert world.spent <= 280


def test_it_is_a_function_of_what_was_met() -> None:
    whole = World(CROSSING, noise=0.02)
    whole.run()
    half = World(CROSSING, noise=0.02, cells=whole.cells[:14], steps=whole.steps[:7])

    assert choose(half.situation()) == whole.steps[7]


def test_each_arms_highest_load_under_the_slo_is_bisected() -> None:
    arms = {"a": decoding(5, 0.5, slo_ms=30), "b": decoding(10, 0.25, slo_ms=30)}
    world = World(arms, wanted=Wanted((), slo=True))

    assert world.run() == ANSWERED
    for arm, truth in (("a", 50), ("b", 80)):
        holds, breaks = the_range(world, f"the highest load of {arm} that holds the SLO")
        assert holds <= truth < breaks <= holds * 1.1**2 + 1e-9
    after = world.steps[5:]
    assert all(len(step.arms) == 1 for step in after)
    assert len(after) <= 2 * math.ceil(math.log2(math.log(4) / math.log(1.21)))


def test_an_slo_that_every_load_holds_or_none_does_costs_no_cell() -> None:
    arms = {"a": decoding(5, 0.01, slo_ms=30), "b": decoding(50, 0.25, slo_ms=30)}
    world = World(arms, wanted=Wanted((), slo=True))
    world.run()

    assert world.loads() == [1, 4, 16, 64, 256]
    known = standing(world.situation())
    assert known["the highest load of a that holds the SLO"] == "at least 256"
    assert known["the highest load of b that holds the SLO"] == "below 1"


def test_loads_at_which_all_arms_only_wait_are_left_out() -> None:
    world = World({"a": decoding(5, 0.5, most=8), "b": decoding(10, 1.0, most=8)}, highest=512)
    world.run()

    assert max(world.loads()) < 512
    assert set(world.situation().saturated) == {"a", "b"}


def test_a_load_that_over_saturates_one_arm_only_is_met() -> None:
    world = World({"a": decoding(5, 0.05, most=8), "b": decoding(10, 0.02)}, highest=512)
    world.run()

    assert max(world.loads()) == 512
    assert set(world.situation().saturated) == {"a"}


def test_a_step_is_for_the_pair_that_it_tells_apart() -> None:
    world = World(CROSSING | {"c": decoding(40, 2.0)})

    assert world.run() == ANSWERED
    assert all(step.arms == ("a", "b", "c") for step in world.steps[:5])
    assert {step.arms for step in world.steps[5:]} == {("a", "b")}


def test_a_cell_that_must_not_decide_is_measured_once_more_by_all() -> None:
    world = World(CROSSING, highest=4)
    world.meet(choose(world.situation()), client_verdict="client_limited")
    world.cells[1] = replace(world.cells[1], client_verdict="client_ok")
    again = choose(world.situation())

    assert (again.arms, again.load, again.purpose) == (("a", "b"), 1, SWEEP)
    world.meet(again, client_verdict="client_limited")
    assert choose(world.situation()).load == 4


def test_arms_that_share_no_good_cell_end_the_search() -> None:
    world = World(CROSSING, highest=4)
    while (choice := choose(world.situation())).load is not None:
        world.meet(choice, client_verdict="client_limited")

    assert choice.purpose == NOTHING_TO_COMPARE
    assert len(world.steps) == 4


def test_without_arms_there_is_nothing_to_do() -> None:
    assert choose(World({}).situation()).load is None


def test_starts_count_in_the_choice() -> None:
    """With dear starts, a question of one arm is cheaper than one of two."""
    arms = {"a": decoding(5, 0.5, slo_ms=30), "b": decoding(10, 0.25, slo_ms=30)}
    free, dear = (World(arms, wanted=Wanted(slo=True), start_s=seconds, noise=0.03) for seconds in (0.0, 500.0))
    for world in (free, dear):
        world.run()

    assert np.mean([len(step.arms) == 1 for step in dear.steps[5:8]]) == 1


def test_what_a_step_bought_is_said_in_loads() -> None:
    name = "the crossing of a / b in median TPOT"

    assert bought({name: ((10, 100),)}, {name: ((31, 48),)}) == f"narrowed {name} from 10 to 100 to 31 to 48"
    assert bought({name: "too noisy to say"}, {name: ((31.0, 48.0),)}) == f"placed {name} within 31 to 48"
    assert bought({name: ((10, 20),)}, {name: ((9, 22),)}).startswith("moved")
    assert bought({name: ((10, 20),)}, {name: ((10.1, 20),)}) == "nothing new"
    assert bought({}, {name: "not known"}) == "nothing new"


def test_what_a_budget_lacks_for_the_sweep_is_the_rest_of_it_by_what_cells_took() -> None:
    """Loads 1, 4, 16, 64 and 256; both arms met 1: four loads of two arms at 10 s, and a start of each."""
    world = World(CROSSING, start_s=7.0)
    world.meet(choose(world.situation()))

    assert wanting_seconds(world.situation()) == 4 * 2 * 10.0 + 2 * 7.0


def test_what_a_budget_lacks_after_the_sweep_closes_with_the_question() -> None:
    world = World(CROSSING, noise=0.02)
    for _ in world.situation().sweep:
        world.meet(choose(world.situation()))
    lacking = wanting_seconds(replace(world.situation(), seconds_left=0.0))

    assert lacking is not None
    assert lacking > 2 * 10.0
    assert world.run() == ANSWERED
    assert wanting_seconds(world.situation()) is None
