"""What a prefix cache should give for the traffic that was planned: an LRU over KV blocks, as vLLM keeps one."""

from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

ROUTINGS = 100
"""Random routings tried where nobody recorded the real one; more move the interval by less than half a point."""

_COVERED = (2.5, 97.5)

Key = tuple[str, int]


@dataclass(frozen=True)
class Prompt:
    """One request as the cache sees it: a prefix that others may share (None: nobody), then tokens of its own.

    Where prompts share more than that, ``segments`` names all their whole blocks, and the prefix plays no part.
    """

    prefix: int | None
    prefix_tokens: int
    own_tokens: int
    output_tokens: int
    segments: tuple[tuple[Key, int], ...] | None = None

    @property
    def tokens(self) -> int:
        """Tokens of the whole prompt, all of which are looked up."""
        return self.prefix_tokens + self.own_tokens


@dataclass(frozen=True)
class Replicas:
    """What serves the prompts: ``count`` caches of ``kv_cache_tokens`` each, in blocks of ``block_size`` tokens.

    ``concurrency`` is the number of requests in flight over all of them; what is in flight cannot be evicted.
    """

    count: int
    kv_cache_tokens: int
    block_size: int
    concurrency: int

    @property
    def in_flight(self) -> int:
        """Requests in flight on one replica when they are spread evenly."""
        return max(1, -(-self.concurrency // self.count))


@dataclass(frozen=True)
class ExpectedRate:
    """A share of prompt tokens from the cache; ``low`` to ``high`` holds 95 % of the routings that were tried."""

    low: float
    mean: float
    high: float


@dataclass(frozen=True)
class _Running:
    """The segments that a request holds, from the head of its prompt, and its blocks beyond them."""

    segments: tuple[tuple[Key, int], ...]
    rest: int


class BlockCache:
    """One replica's KV blocks: least recently used first out, and of one prompt the last block first.

    Blocks of one prefix are always freed together, so they are kept as one segment that is eaten from its tail:
    the same result as block by block (vLLM's ``free_block_queue``), at the price of one step a request.
    """

    def __init__(self, blocks: int, block_size: int, in_flight: int) -> None:
        self._block_size = block_size
        self._in_flight = in_flight
        self._unused = blocks
        self._idle_blocks = 0
        self._cached: dict[Key, int] = {}
        self._held: dict[Key, int] = {}
        self._idle: OrderedDict[Key, int] = OrderedDict()
        self._running: deque[_Running] = deque()
        self._answers = 0

    def serve(self, index: int, prompt: Prompt) -> int:
        """Admit one prompt, ending the oldest ones if there is no room; return its tokens found in the cache."""
        request = self._request(index, prompt)
        while len(self._running) >= self._in_flight:
            self._end(self._running.popleft())
        found = self._found(request)
        while self._needed(request) > self._room(request) and self._running:
            self._end(self._running.popleft())
            found = self._found(request)
        self._admit(request)
        reusable = (prompt.tokens - 1) // self._block_size
        return min(found, reusable) * self._block_size

    def _request(self, index: int, prompt: Prompt) -> _Running:
        every = -(-(prompt.tokens + prompt.output_tokens) // self._block_size)
        if prompt.segments is not None:
            return _Running(prompt.segments, every - sum(blocks for _, blocks in prompt.segments))
        shared = prompt.prefix_tokens // self._block_size if prompt.prefix is not None else 0
        own = prompt.tokens // self._block_size - shared
        segments: list[tuple[Key, int]] = [] if prompt.prefix is None else [(("prefix", prompt.prefix), shared)]
        segments.append((("own", index), own))
        return _Running(tuple(segments), every - shared - own)

    def _found(self, request: _Running) -> int:
        """Count cached blocks from the head on, up to the first gap."""
        found = 0
        for key, blocks in request.segments:
            found += (cached := self._cached.get(key, 0))
            if cached < blocks:
                break
        return found

    def _needed(self, request: _Running) -> int:
        return request.rest + sum(blocks - self._cached.get(key, 0) for key, blocks in request.segments)

    def _room(self, request: _Running) -> int:
        """Blocks that may be taken: unused ones, and idle ones that are not the request's own hits."""
        mine = sum(self._idle.get(key, 0) for key, _ in request.segments)
        return self._unused + self._idle_blocks - mine

    def _admit(self, request: _Running) -> None:
        for key, _ in request.segments:
            self._idle_blocks -= self._idle.pop(key, 0)
            self._held[key] = self._held.get(key, 0) + 1
        self._take(self._needed(request))
        self._cached.update(dict(request.segments))
        self._running.append(request)

    def _take(self, blocks: int) -> None:
        blocks -= (fresh := min(blocks, self._unused))
        self._unused -= fresh
        while blocks > 0 and self._idle:
            key = next(iter(self._idle))
            eaten = min(blocks, self._idle[key])
            blocks -= eaten
            self._idle_blocks -= eaten
            self._idle[key] -= eaten
            self._cached[key] = self._idle[key]
            if not self._idle[key]:
                del self._idle[key], self._cached[key]

    def _end(self, request: _Running) -> None:
        """Free a request's blocks from its last to its first; what others hold stays held."""
        self._answers += 1
        self._free(("answer", self._answers), request.rest)
        for key, blocks in reversed(request.segments):
            self._held[key] -= 1
            if not self._held[key]:
                self._free(key, blocks)

    def _free(self, key: Key, blocks: int) -> None:
        if blocks:
            self._idle[key] = blocks
            self._idle_blocks += blocks


def expected_hit_rate(
    prompts: Sequence[Prompt], replicas: Replicas, routing: Sequence[int] | None, *, primed: bool = False
) -> ExpectedRate | None:
    """Return the share of prompt tokens that caches, empty at first, should have; None if a prompt cannot fit.

    ``prompts`` are in the order of their sends and ``routing`` tells the replica of each. None: a balancer chose at
    random, so ``ROUTINGS`` draws of it give an interval. ``primed``: all prompts were sent once before, uncounted.
    """
    blocks = replicas.kv_cache_tokens // replicas.block_size
    longest = max((prompt.tokens + prompt.output_tokens for prompt in prompts), default=0)
    if not prompts or longest > blocks * replicas.block_size:
        return None
    if routing is None and replicas.count > 1:
        draws = np.random.default_rng(0).integers(0, replicas.count, (ROUTINGS, len(prompts)))
        rates = [_rate(prompts, replicas, draw.tolist(), primed=primed) for draw in draws]
    else:
        rates = [_rate(prompts, replicas, routing or [0] * len(prompts), primed=primed)]
    low, high = np.percentile(rates, _COVERED)
    return ExpectedRate(float(low), float(np.mean(rates)), float(high))


def _rate(prompts: Sequence[Prompt], replicas: Replicas, routing: Sequence[int], *, primed: bool) -> float:
    blocks = replicas.kv_cache_tokens // replicas.block_size
    caches = [BlockCache(blocks, replicas.block_size, replicas.in_flight) for _ in range(replicas.count)]
    for _ in range(1 + primed):
        found = sum(
            caches[replica].serve(index, prompt)
            for index, (prompt, replica) in enumerate(zip(prompts, routing, strict=True))
        )
    return found / sum(prompt.tokens for prompt in prompts)
