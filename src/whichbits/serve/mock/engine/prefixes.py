"""A prefix cache as far as its counters go: blocks of 16 tokens that earlier prompts had, told by their chain."""

from collections.abc import Iterator, Sequence

BLOCK_TOKENS = 16
_MOST_BLOCKS = 1_000_000


class Prefixes:
    """Blocks that were seen; the oldest are forgotten beyond a million. At least one token is always computed."""

    def __init__(self) -> None:
        self._blocks: dict[int, None] = {}

    def look_up(self, prompt: Sequence[int]) -> int:
        """Return how many leading tokens were there, and keep the prompt's blocks."""
        found, unbroken = 0, True
        for block in _chain(prompt):
            unbroken = unbroken and block in self._blocks
            found += BLOCK_TOKENS * unbroken
            self._blocks[block] = None
        while len(self._blocks) > _MOST_BLOCKS:
            del self._blocks[next(iter(self._blocks))]
        return min(found, (len(prompt) - 1) // BLOCK_TOKENS * BLOCK_TOKENS)

    def empty(self) -> None:
        """Forget every block."""
        self._blocks.clear()


def _chain(prompt: Sequence[int]) -> Iterator[int]:
    """Yield a hash a whole block, each of all tokens up to its end."""
    before = 0
    for start in range(0, len(prompt) - BLOCK_TOKENS + 1, BLOCK_TOKENS):
        before = hash((before, *prompt[start : start + BLOCK_TOKENS]))
        yield before
