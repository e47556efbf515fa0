"""The expected hit rate agrees with a cache kept block by block, and with a field report's measured rates."""

from collections import Counter, OrderedDict
from itertools import takewhile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whichbits.analyze.cache.expected import Prompt, Replicas, expected_hit_rate

BLOCK = 4


class SingleBlocks:
    """One cache with every block on its own, written apart: a free queue, contents, and reference counts."""

    def __init__(self, blocks: int, in_flight: int) -> None:
        self.free: OrderedDict[object, None] = OrderedDict((("unused", number), None) for number in range(blocks))
        self.held: Counter[object] = Counter()
        self.running: list[list[object]] = []
        self.in_flight = in_flight

    def serve(self, index: int, prompt: Prompt) -> int:
        names = self.names(index, prompt)
        while len(self.running) >= self.in_flight:
            self.end()
        while self.running and sum(not self.held[name] for name in names) > len(self.free):
            self.end()
        full = names[: prompt.tokens // BLOCK]
        found = list(takewhile(lambda name: self.held[name] or name in self.free, full))
        for name in names:
            if not self.held[name] and name not in self.free:
                # A block that is about to be reused is not what is pushed out.
                self.free.pop(next(idle for idle in self.free if idle not in found))
            self.free.pop(name, None)
            self.held[name] += 1
        self.running.append(names)
        return min(len(found), (prompt.tokens - 1) // BLOCK) * BLOCK

    def names(self, index: int, prompt: Prompt) -> list[object]:
        shared = prompt.prefix_tokens // BLOCK
        every = -(-(prompt.tokens + prompt.output_tokens) // BLOCK)
        return [("prefix", prompt.prefix, place) if place < shared else (index, place) for place in range(every)]

    def end(self) -> None:
        for name in reversed(self.running.pop(0)):
            self.held[name] -= 1
            if not self.held[name]:
                self.free[name] = None


prompt = st.builds(
    Prompt,
    prefix=st.integers(0, 4),
    prefix_tokens=st.just(10),
    own_tokens=st.integers(1, 9),
    output_tokens=st.integers(1, 9),
)


@given(prompts=st.lists(prompt, min_size=1, max_size=40), blocks=st.integers(7, 60), in_flight=st.integers(1, 4))
def test_segments_find_what_single_blocks_find(prompts: list[Prompt], blocks: int, in_flight: int) -> None:
    replicas = Replicas(1, blocks * BLOCK, BLOCK, in_flight)

    found = expected_hit_rate(prompts, replicas, None)

    assert found is not None
    cache = SingleBlocks(blocks, in_flight)
    hits = sum(cache.serve(index, prompt) for index, prompt in enumerate(prompts))
    assert found.low == found.high == pytest.approx(hits / sum(prompt.tokens for prompt in prompts))


def one(prefix: int, own: int = 4) -> Prompt:
    """Two blocks of prefix, one of its own, one of answer."""
    return Prompt(prefix, 8, own, 4)


@pytest.mark.parametrize(
    ("prompts", "blocks", "hit_tokens"),
    [
        # 8 of the second prompt's 12 tokens.
        ([one(0), one(0)], 100, 8),
        ([one(0), one(1)], 100, 0),
        # Four blocks hold one request: the other prefix pushes the first one out.
        ([one(0), one(1), one(0)], 4, 0),
        # Six: prefix 1 takes the two unused ones, then the answer and the own block of prefix 0, not its prefix.
        ([one(0), one(1), one(0)], 6, 8),
        # Five: prefix 1 takes one unused block and three freed ones, the last block of prefix 0 among them.
        ([one(0), one(1), one(0)], 5, 4),
    ],
    ids=["repeated", "different", "pushed out", "kept", "half pushed out"],
)
def test_small_caches_by_hand(prompts: list[Prompt], blocks: int, hit_tokens: int) -> None:
    found = expected_hit_rate(prompts, Replicas(1, blocks * BLOCK, BLOCK, 1), None)

    assert found is not None
    assert found.mean == hit_tokens / (12 * len(prompts))


def test_a_whole_prompt_in_the_cache_leaves_one_block_to_compute() -> None:
    # 8 of 8 tokens are cached, but the last one must be computed for the first token: its block is not reused.
    found = expected_hit_rate([one(0, own=0)] * 2, Replicas(1, 400, BLOCK, 1), None)

    assert found is not None
    assert found.mean == 4 / 16


def test_primed_caches_find_everything_but_the_last_block() -> None:
    prompts = [Prompt(None, 0, 12, 4), Prompt(None, 0, 8, 4)]

    found = expected_hit_rate(prompts, Replicas(1, 400, BLOCK, 1), None, primed=True)
    cold = expected_hit_rate(prompts, Replicas(1, 400, BLOCK, 1), None)

    assert found is not None
    assert cold is not None
    assert (found.mean, cold.mean) == ((8 + 4) / 20, 0.0)


def test_a_known_routing_leaves_no_interval() -> None:
    prompts, replicas = [one(0), one(0)], Replicas(2, 400, BLOCK, 2)
    rates = {routing: expected_hit_rate(prompts, replicas, routing) for routing in ((0, 0), (0, 1))}

    assert {routing: (rate.low, rate.high) for routing, rate in rates.items() if rate} == {
        (0, 0): (8 / 24, 8 / 24),
        (0, 1): (0.0, 0.0),
    }


def test_what_cannot_be_served_has_no_expectation() -> None:
    assert expected_hit_rate([one(0)], Replicas(1, 3 * BLOCK, BLOCK, 1), None) is None
    assert expected_hit_rate([], Replicas(1, 400, BLOCK, 1), None) is None


@pytest.mark.parametrize(
    ("kv_cache_tokens", "measured", "by_replica"),
    [(283_408, 0.304, (0.317, 0.289)), (402_400, 0.392, (0.384, 0.401))],
    ids=["bf16", "awq"],
)
def test_the_first_field_report(kv_cache_tokens: int, measured: float, by_replica: tuple[float, float]) -> None:
    """160 prefixes of 3,072 tokens, three prompts of each with 64 tokens of their own, shuffled over two replicas."""
    order = np.random.default_rng(0).permutation(np.repeat(np.arange(160), 3))
    prompts = [Prompt(int(prefix), 3072, 64, 32) for prefix in order]

    found = expected_hit_rate(prompts, Replicas(2, kv_cache_tokens, 16, 32), None)

    assert found is not None
    assert found.mean == pytest.approx(measured, abs=0.03)
    assert found.low <= measured <= found.high
    assert all(found.low - 0.03 <= rate <= found.high + 0.03 for rate in by_replica)
