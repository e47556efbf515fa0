"""How fast a mock answers: nanoseconds to a first token and between ticks, jitter included."""

import random

from whichbits.serve.mock.settings import MockSettings

_MS = 1_000_000
_DRAWN = 4_096
_GOLDEN = 0.6180339887498949
"""Multiples of it, taken modulo 1, cover a gap as evenly as can be, however many streams there are."""


class Speed:
    """The pace of one mock, from its settings."""

    def __init__(self, settings: MockSettings) -> None:
        self._ttft_ns = settings.ttft_ms * _MS
        self._ttft_per_token_ns = settings.ttft_per_token_ms * _MS
        self._itl_ns = settings.itl_ms * _MS
        self._per_running_ns = settings.itl_per_running_ms * _MS
        self._spread = settings.cadence == "spread"
        draws = random.Random(settings.seed)
        self._factors = (
            [1 + settings.jitter * (2 * draws.random() - 1) for _ in range(_DRAWN)] if settings.jitter else None
        )
        self._drawn = 0

    def first_ns(self, number: int, computed_tokens: int, running: int) -> int:
        """Return the time to a request's first token; spread streams get a phase of their own on top."""
        phase = (number * _GOLDEN) % 1 * self.gap_ns(running) if self._spread else 0.0
        return round(self._ttft_ns + self._ttft_per_token_ns * computed_tokens + phase)

    def gap_ns(self, running: int) -> int:
        """Return the time to the next tick while ``running`` requests hold slots, without jitter."""
        return round(self._itl_ns + self._per_running_ns * running)

    def next_ns(self, running: int) -> int:
        """Return the time to the next tick with jitter."""
        gap = self._itl_ns + self._per_running_ns * running
        if self._factors is None:
            return int(gap)
        self._drawn = (self._drawn + 1) % _DRAWN
        return int(gap * self._factors[self._drawn])
