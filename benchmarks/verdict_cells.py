"""Two hundred short cells: loads within and far beyond what a client can do, and clients that are held back."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Literal

from whichbits.serve.mock.settings import Cadence, MockSettings
from whichbits.study.model import Load
from whichbits.traffic.plan import PlannedRequest

Arrivals = Literal["closed", "steady", "bursts"]
_MOST_TOKENS_PER_S = 120_000
_BURST_S = 0.25
_NS = 1e9


@dataclass(frozen=True)
class VerdictCell:
    """One cell. ``stop`` is (for so many ms, every so many ms); ``burn`` the neighbour's share of the worker's core."""

    kind: str
    streams: int
    itl_ms: float = 20.0
    ttft_ms: float = 50.0
    cadence: Cadence = "spread"
    arrivals: Arrivals = "closed"
    tokens_per_chunk: int = 1
    events_per_send: int = 1
    jitter: float = 0.0
    seconds: float = 1.0
    workers: int = 1
    burn: float = 0.0
    stop: tuple[float, float] | None = None

    @property
    def chunks_per_s(self) -> float:
        return self.streams * 1000 / self.itl_ms

    @property
    def settings(self) -> MockSettings:
        return MockSettings(
            itl_ms=self.itl_ms,
            ttft_ms=self.ttft_ms,
            cadence=self.cadence,
            jitter=self.jitter,
            tokens_per_chunk=self.tokens_per_chunk,
            events_per_send=self.events_per_send,
        )

    @property
    def load(self) -> Load:
        if self.arrivals == "closed":
            return Load(concurrency=self.streams)
        return Load(request_rate=self.streams / self.seconds)

    def planned(self) -> list[PlannedRequest]:
        """Return two turns a stream in a closed loop; else one request a stream, each of half the cell's length."""
        chunks = max(4, round(self.seconds * 500 / self.itl_ms))
        count = 2 * self.streams if self.arrivals == "closed" else self.streams
        tokens = chunks * self.tokens_per_chunk
        return [PlannedRequest(n, (n, 1, 2), tokens, self._offset_ns(n)) for n in range(count)]

    def _offset_ns(self, index: int) -> int | None:
        if self.arrivals == "closed":
            return None
        at_s = self.seconds * index / self.streams
        return round((at_s // _BURST_S * _BURST_S if self.arrivals == "bursts" else at_s) * _NS)


def cells(count: int, seed: int) -> list[VerdictCell]:
    """Return so many cells: of each kind its share, drawn from all of its combinations, in a mixed order."""
    draws = random.Random(seed)
    kinds = [list(kind) for kind in (_plain(), _bundled(), _arriving(), _burned(), _stopped(), _crewed())]
    shares = (0.32, 0.12, 0.16, 0.16, 0.20, 0.04)
    found = [
        cell for kind, share in zip(kinds, shares, strict=True) for cell in _some(kind, round(share * count), draws)
    ]
    draws.shuffle(found)
    return found


def _some(kind: Sequence[VerdictCell], count: int, draws: random.Random) -> list[VerdictCell]:
    possible = [cell for cell in kind if cell.chunks_per_s <= _MOST_TOKENS_PER_S]
    return draws.sample(possible, min(count, len(possible)))


def _plain() -> Iterator[VerdictCell]:
    streams = (8, 32, 64, 128, 256, 512, 800, 1024, 1400, 2000)
    for count, itl_ms, cadence, ttft_ms in product(streams, (2.0, 5.0, 10.0, 20.0, 50.0), _CADENCES, (50.0, 200.0)):
        yield VerdictCell("plain", count, itl_ms, ttft_ms, cadence)


def _bundled() -> Iterator[VerdictCell]:
    for count, shape, cadence, jitter in product((32, 256, 800, 1400), ((4, 1), (1, 2), (1, 4)), _CADENCES, (0.0, 0.5)):
        tokens, events = shape
        cell = VerdictCell("bundled", count, cadence=cadence, jitter=jitter)
        yield replace(cell, tokens_per_chunk=tokens, events_per_send=events)


def _arriving() -> Iterator[VerdictCell]:
    arrivals: tuple[Arrivals, ...] = ("steady", "bursts")
    for count, how, ttft_ms, itl_ms in product((20, 100, 400, 1000, 2000), arrivals, (20.0, 100.0, 400.0), (5.0, 20.0)):
        yield VerdictCell("arrivals", count, itl_ms, ttft_ms, arrivals=how)


def _burned() -> Iterator[VerdictCell]:
    for count, burn, cadence, itl_ms in product((16, 128, 400, 800), (0.3, 0.6, 1.0), _CADENCES, (5.0, 20.0)):
        yield VerdictCell("burner", count, itl_ms, cadence=cadence, burn=burn)


def _stopped() -> Iterator[VerdictCell]:
    stops = ((4.0, 50.0), (12.0, 100.0), (30.0, 100.0), (30.0, 400.0), (80.0, 400.0), (200.0, 500.0))
    for count, stop, cadence, itl_ms in product((16, 128, 400), stops, _CADENCES, (10.0, 20.0, 50.0)):
        yield VerdictCell("stopped", count, itl_ms, cadence=cadence, stop=stop)


def _crewed() -> Iterator[VerdictCell]:
    for count, cadence, itl_ms in product((64, 512, 1024, 2000), _CADENCES, (10.0, 20.0)):
        yield VerdictCell("two workers", count, itl_ms, cadence=cadence, workers=2)


_CADENCES: tuple[Cadence, ...] = ("spread", "steps")
