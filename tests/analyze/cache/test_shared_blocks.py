"""What prompts share by their ids is what a cache kept block by block finds."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.analyze.cache.test_expected import BLOCK, SingleBlocks
from tests.traffic.studies import planned
from whichbits.analyze.cache.expected import Prompt, Replicas, expected_hit_rate
from whichbits.analyze.cache.shared_blocks import segments

Ids = tuple[int, ...]
ids = st.lists(st.integers(0, 1), min_size=1, max_size=24).map(tuple)


def prompts(asked: list[Ids], output_tokens: int = 3) -> list[Prompt]:
    shared = segments(asked, BLOCK)
    return [Prompt(None, 0, len(each), output_tokens, runs) for each, runs in zip(asked, shared, strict=True)]


class ByIds(SingleBlocks):
    """The same cache, where a block is known by all the ids up to its end."""

    def __init__(self, blocks: int, in_flight: int, asked: list[Ids]) -> None:
        super().__init__(blocks, in_flight)
        self.asked = asked

    def names(self, index: int, prompt: Prompt) -> list[object]:
        given, every = self.asked[index], -(-(prompt.tokens + prompt.output_tokens) // BLOCK)
        whole = len(given) // BLOCK
        return [given[: (at + 1) * BLOCK] if at < whole else (f"own {index}", at) for at in range(every)]


@settings(deadline=None)
@given(asked=st.lists(ids, min_size=1, max_size=25), blocks=st.integers(7, 60), in_flight=st.integers(1, 4))
def test_segments_find_what_single_blocks_find(asked: list[Ids], blocks: int, in_flight: int) -> None:
    """Ids of two values: beginnings are shared at random, in every depth."""
    given = prompts(asked)
    found = expected_hit_rate(given, Replicas(1, blocks * BLOCK, BLOCK, in_flight), None)
    cache = ByIds(blocks, in_flight, asked)
    hits = sum(cache.serve(index, prompt) for index, prompt in enumerate(given))

    assert found is not None
    assert found.mean == pytest.approx(hits / sum(map(len, asked)))


def test_runs_are_as_long_as_what_is_shared_by_the_same_prompts() -> None:
    one, two, three = segments([(1,) * 8 + (2,) * 8, (1,) * 8 + (3,) * 9, (4,) * 3], BLOCK)

    assert [blocks for _, blocks in one] == [2, 2]
    assert [blocks for _, blocks in two] == [2, 2]
    assert one[0] == two[0]
    assert one[1] != two[1]
    assert three == ()


def test_a_turn_finds_the_prompt_before_it_and_no_more() -> None:
    """One session of three turns: prompts of 64, 64 + 32 + 16 = 112 and 160 tokens; found are 0, 64 and 112."""
    asked = planned({"kind": "sessions", "turns": 3, "first_tokens": 64, "output_tokens": 32, "input_tokens": 16}, 3)
    shared = segments([request.prompt for request in asked], 16)
    given = [Prompt(None, 0, len(r.prompt), 32, runs) for r, runs in zip(asked, shared, strict=True)]
    found = expected_hit_rate(given, Replicas(1, 16 * 100, 16, 1), None)

    assert found is not None
    assert found.mean == pytest.approx((64 + 112) / (64 + 112 + 160))
