"""Which blocks of a KV cache prompts have in common, by their token ids alone, as vLLM's chained hashes tell it."""

from collections import Counter
from collections.abc import Sequence
from itertools import groupby

Segment = tuple[tuple[str, int], int]
"""A run of blocks that a prompt shares with the same others throughout: its name, and how many blocks it has."""


def segments(prompts: Sequence[Sequence[int]], block_size: int) -> list[tuple[Segment, ...]]:
    """Return the whole blocks of each prompt from its head on, as few runs as keep apart what others do not share.

    A block's name is a hash of its ids and of the block before it, so that prompts with a name in common have all in
    common up to there. Blocks in a row that equally many prompts have are had by the same ones, and so are one run.
    """
    chains = [_chain(prompt, block_size) for prompt in prompts]
    sharers = Counter(name for chain in chains for name in chain)
    return [_runs(chain, sharers) for chain in chains]


def _chain(prompt: Sequence[int], block_size: int) -> list[int]:
    names: list[int] = []
    before = 0
    for start in range(0, len(prompt) - block_size + 1, block_size):
        before = hash((before, *prompt[start : start + block_size]))
        names.append(before)
    return names


def _runs(chain: Sequence[int], sharers: Counter[int]) -> tuple[Segment, ...]:
    found = []
    for _, run in groupby(chain, sharers.__getitem__):
        names = list(run)
        found.append((("block", names[0]), len(names)))
    return tuple(found)
