"""Fixed loads are repeated while that helps, and no longer."""

from tests.conduct.simulated_search import World, decoding
from whichbits.conduct.searching.choice import ANSWERED, SWEEP, Choice, Wanted
from whichbits.conduct.searching.repeat_search import AS_LOADS_ALLOW, why_settled

CROSSING = {"a": decoding(5, 0.5), "b": decoding(10, 0.25)}
"""They cross at 20, between 16 and 64."""


def repeated(world: World, repeats: int, loads: tuple[int, ...] = (1, 4, 16, 64, 256)) -> str | None:
    for _ in range(repeats):
        for load in loads:
            world.meet(Choice(tuple(world.arms), load, SWEEP))
    return why_settled(world.situation())


def test_a_crossing_that_noise_leaves_open_is_repeated_until_it_is_placed() -> None:
    world = World(CROSSING, noise=0.06, wanted=Wanted(precision=0.3))

    assert repeated(world, 1) is None
    assert repeated(world, 19) == ANSWERED


def test_a_steady_lead_needs_one_repeat() -> None:
    assert repeated(World({"a": decoding(5, 0.25), "b": decoding(10, 0.5)}), 1) == ANSWERED


def test_where_the_loads_lie_too_far_apart_repeats_do_not_help() -> None:
    """A bend between distant loads leaves more open than noise does."""
    world = World(CROSSING, noise=0.0005, wanted=Wanted(precision=0.01))

    assert repeated(world, 6, loads=(1, 4, 256)) == AS_LOADS_ALLOW
