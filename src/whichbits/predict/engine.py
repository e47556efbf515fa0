"""One replica in virtual time: the scheduler of vLLM's V1 engine over step times and a paged KV cache.

A step carries one token of every decoding request, then as much prefill as the token budget, ``max_num_seqs`` and the
block pool allow: first the prompt that is under way, then waiting ones in order. Who finds no block for its next token
preempts the request that came last, which later computes everything anew (``v1/core/sched/scheduler.py``).

Between two scheduling events every step is alike but for the growing KV cache, whose cost is linear. So a stretch of
n decode steps is one event: it starts at t, and step j of it ends at t + a j + b j^2.

Before the engine stands one process that takes requests in and hands tokens out, one after the other. If tokens come
faster than it hands them out it falls behind, and everything that is seen from outside is seen that much later.
"""

from collections import deque
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from math import ceil, inf, isnan, nan, sqrt

from whichbits.predict.blocks import BlockPool
from whichbits.predict.pace import Pace
from whichbits.predict.workload import Workload

Stretch = tuple[int, float, float, float, float]
"""Steps n, start t, a and b (step j of n ends at t + a j + b j^2), and how much later its last tokens are seen."""


@dataclass(frozen=True)
class Limits:
    """What bounds a step, under vLLM's names."""

    max_num_batched_tokens: int
    max_num_seqs: int


@dataclass(frozen=True)
class Answers:
    """What became of each request, by its place in the workload; filled while the simulation goes on.

    Times are those of the engine's steps, in seconds; NaN until they are known. ``segments`` holds, where steps are
    kept, the runs of steps in which a request got its tokens: (first step, how many), more than one if preempted.
    """

    first_s: list[float]
    last_s: list[float]
    cached_tokens: list[int]
    segments: list[list[tuple[int, int]]]

    @classmethod
    def to(cls, work: Workload) -> "Answers":
        """Return an empty sheet for ``work``."""
        size = len(work)
        return cls([nan] * size, [nan] * size, [0] * size, [[] for _ in range(size)])


class Replica:
    """A server process. ``until`` is when the present step or stretch ends; infinite while it is idle.

    Drive it by ``arrive``, and by ``step`` whenever the time is ``until``.
    """

    __slots__ = (
        "_admitted",
        "_answers",
        "_batch",
        "_chunks",
        "_claimed",
        "_decoding",
        "_delay",
        "_front_free",
        "_growth",
        "_kv",
        "_limits",
        "_pace",
        "_partial",
        "_pool",
        "_resumed",
        "_shared",
        "_start",
        "_steps",
        "_stretch",
        "_waiting",
        "_work",
        "outstanding",
        "preemptions",
        "stretches",
        "until",
    )

    def __init__(
        self, speed: tuple[Pace, Limits], pool: BlockPool, work: Workload, answers: Answers, *, keep_steps: bool = False
    ) -> None:
        """``keep_steps`` keeps every stretch and every request's place in them, from which token times follow."""
        self._pace, self._limits = speed
        self._pool, self._work, self._answers = pool, work, answers
        self.until = inf
        self.outstanding = 0
        self.preemptions = 0
        self.stretches: list[Stretch] | None = [] if keep_steps else None
        self._waiting: deque[int] = deque()
        # Decoding requests by (step after which they end, order of admission, request, KV tokens at their end).
        self._decoding: list[tuple[int, int, int, int]] = []
        # Prefill of this step: (request, tokens already there, tokens of this chunk, tokens wanted in all).
        self._chunks: list[tuple[int, int, int, int]] = []
        self._partial: tuple[int, int, int] | None = None
        # What a preempted request needs when it comes back: (tokens to compute, tokens left to answer).
        self._resumed: dict[int, tuple[int, int]] = {}
        self._shared: dict[int, int] = {}
        # Decoding requests by the step, modulo a block's size, before which they need a new block.
        self._growth = [0] * pool.block
        self._batch = self._kv = self._steps = self._admitted = self._claimed = 0
        self._start = self._front_free = self._delay = 0.0
        self._stretch: tuple[int, float, float] = (0, 0.0, 0.0)

    def take_in(self, now: float) -> float:
        """Return when a request sent at ``now`` reaches the engine's queue, and keep the front end busy with it."""
        pace = self._pace
        self._front_free = max(self._front_free, now) + pace.request_turn
        return self._front_free + pace.request_in

    def arrive(self, request: int, now: float) -> None:
        """Queue a request that comes at ``now``; a stretch of decode steps ends with the step that is under way."""
        self.outstanding += 1
        alone = not self._waiting
        self._waiting.append(request)
        if self.until == inf:
            self._plan(now)
        elif alone and not self._chunks and self._stretch[0] > 1 and self._batch < self._limits.max_num_seqs:
            self._cut(now)

    def step(self) -> list[int]:
        """Finish the step or stretch that ends at ``until``, return the requests that it ended, and plan the next."""
        now = self.until
        self._advance(now)
        seen = now + self._delay
        ended = self._end_decoding(seen)
        if self._chunks:
            self._end_chunks(seen, ended)
        self.outstanding -= len(ended)
        self._plan(now)
        return ended

    def _plan(self, now: float) -> None:
        self._start = now
        before = self.preemptions
        if (self._waiting or self._partial is not None) and self._fill_step():
            self._plan_mixed(now)
        elif self._batch:
            self._plan_stretch(now, self.preemptions > before)
        else:
            self.until = inf

    def _plan_mixed(self, now: float) -> None:
        """Time one step that computes the chunks beside a token for everyone who decodes."""
        pace, batch = self._pace, self._batch
        tokens, sampled = batch, batch
        seconds = pace.per_kv_token * (self._kv + batch)
        for _, there, chunk, wanted in self._chunks:
            tokens += chunk
            sampled += there + chunk == wanted
            seconds += pace.per_attended_pair * chunk * (there + 0.5 * chunk) + pace.per_prefill_kv_token * there
        seconds += pace.mixed[tokens] + pace.head[sampled]
        self._stretch = (1, seconds, 0.0)
        self.until = now + seconds

    def _plan_stretch(self, now: float, lost_one: bool) -> None:
        """Time the steps until someone ends or blocks run out; only one if someone had to go: he may come back next."""
        steps = 1 if lost_one else self._decoding[0][0] - self._steps
        if self._batch * (steps // self._pool.block + 1) > self._pool.free:
            steps = self._fitting(steps)
        batch = self._batch
        pace = self._pace
        half = 0.5 * pace.per_kv_token * batch
        linear = pace.decode[batch] + pace.per_kv_token * self._kv + half
        self._stretch = (steps, linear, half)
        self.until = now + steps * (linear + half * steps)

    def _cut(self, now: float) -> None:
        """Let the stretch end with the step that is under way at ``now``."""
        steps, linear, square = self._stretch
        passed = now - self._start
        reached = ceil(2 * passed / (linear + sqrt(linear * linear + 4 * square * passed)))
        if reached < steps:
            reached = max(reached, 1)
            self._stretch = (reached, linear, square)
            self.until = self._start + reached * (linear + square * reached)

    def _advance(self, now: float) -> None:
        """Account for the steps that have passed: KV tokens, blocks, the front end, and the clock."""
        steps, linear, square = self._stretch
        batch = self._batch
        if batch:
            self._kv += steps * batch
            if steps > self._claimed:
                self._pool.take(self._new_blocks(self._steps + self._claimed, steps - self._claimed))
        self._claimed = 0
        self._steps += steps
        batch_out = self._pace.token_turn * (batch + len(self._chunks))
        self._front_free = max(max(self._front_free, self._start) + steps * batch_out, now + batch_out)
        self._delay = self._front_free - now - 0.5 * batch_out
        if self.stretches is not None:
            self.stretches.append((steps, self._start, linear, square, self._delay))

    def _end_decoding(self, now: float) -> list[int]:
        ended: list[int] = []
        decoding, steps = self._decoding, self._steps
        while decoding and decoding[0][0] == steps:
            _, _, request, kv_tokens = heappop(decoding)
            self._leave(request, steps, kv_tokens, kv_tokens)
            self._answers.last_s[request] = now
            ended.append(request)
        return ended

    def _leave(self, request: int, end_step: int, end_tokens: int, tokens: int, *, again: bool = False) -> None:
        """Take a request out of the batch while it holds ``tokens``, and give its blocks back."""
        block = self._pool.block
        self._batch -= 1
        self._kv -= tokens
        self._growth[(end_tokens - end_step) % block] -= 1
        own = -(-tokens // block) - (self._shared.pop(request, 0) if self._shared else 0)
        self._pool.release(self._work.prefix[request], request, own, again=again)

    def _end_chunks(self, now: float, ended: list[int]) -> None:
        """Give each request whose prompt is complete its first token; it decodes from the next step on."""
        self._partial = None
        for request, there, chunk, wanted in self._chunks:
            computed = there + chunk
            if computed < wanted:
                self._partial = (request, computed, wanted)
            else:
                self._begin_decoding(request, wanted, now, ended)
        self._chunks = []

    def _begin_decoding(self, request: int, tokens: int, now: float, ended: list[int]) -> None:
        left = self._work.output_tokens[request]
        if self._resumed:
            left = self._resumed.pop(request, (0, left))[1]
        answers = self._answers
        if isnan(answers.first_s[request]):
            answers.first_s[request] = now
        if self.stretches is not None:
            answers.segments[request].append((self._steps - 1, left))
        end_step, end_tokens = self._steps + left - 1, tokens + left - 1
        self._batch += 1
        self._kv += tokens
        self._growth[(end_tokens - end_step) % self._pool.block] += 1
        if left == 1:
            self._leave(request, end_step, end_tokens, tokens)
            answers.last_s[request] = now
            ended.append(request)
            return
        self._admitted += 1
        heappush(self._decoding, (end_step, self._admitted, request, end_tokens))

    def _fill_step(self) -> bool:
        """Choose this step's prefill; return whether there is any. Everyone who decodes has a token and its block."""
        if self._batch and self._claim_growth():
            return False
        budget = self._limits.max_num_batched_tokens - self._batch
        if self._partial is not None:
            budget = self._go_on(budget)
        room = self._limits.max_num_seqs - self._batch - len(self._chunks)
        while self._waiting and budget > 0 and room > 0:
            taken = self._admit(self._waiting[0], budget)
            if not taken:
                break
            self._waiting.popleft()
            budget -= taken
            room -= 1
        return bool(self._chunks)

    def _go_on(self, budget: int) -> int:
        """Take the next chunk of the prompt under way; it goes back to the queue if there are no blocks for it."""
        request, there, wanted = self._partial or (0, 0, 0)
        chunk = min(wanted - there, budget)
        block = self._pool.block
        new = -(-(there + chunk) // block) - -(-there // block)
        if new <= self._pool.free:
            self._pool.take(new)
            self._share(request, there + chunk)
            self._chunks.append((request, there, chunk, wanted))
            return budget - chunk
        self._preempt_partial()
        return 0

    def _admit(self, request: int, budget: int) -> int:
        """Start a waiting request; return the tokens that it computes in this step, 0 if it does not fit."""
        wanted = self._work.prompt_tokens[request]
        if self._resumed:
            wanted = self._resumed.get(request, (wanted, 0))[0]
        pool, prefix = self._pool, self._work.prefix[request]
        if prefix < 0 and not pool.may_know_own:
            return self._admit_new(request, wanted, budget)
        found = pool.found(prefix, request, wanted)
        there = found * pool.block
        chunk = min(wanted - there, budget)
        shared = pool.shared(prefix, found)
        if not pool.admit(prefix, request, found, -(-(there + chunk) // pool.block)):
            return 0
        if prefix >= 0:
            self._shared[request] = shared
            self._share(request, there + chunk)
        if found and request not in self._resumed:
            self._answers.cached_tokens[request] = there
        self._chunks.append((request, there, chunk, wanted))
        return chunk

    def _admit_new(self, request: int, wanted: int, budget: int) -> int:
        """Start a request of which the cache can know nothing: the usual case, and the one that has to be fast."""
        chunk = min(wanted, budget)
        pool = self._pool
        blocks = -(-chunk // pool.block)
        if blocks > pool.free:
            return 0
        pool.take(blocks)
        self._chunks.append((request, 0, chunk, wanted))
        return chunk

    def _share(self, request: int, tokens: int) -> None:
        """Let others find a prefix from the moment on at which it is scheduled, as vLLM does."""
        prefix = self._work.prefix[request]
        if prefix >= 0:
            self._shared[request] += self._pool.remember(prefix, tokens)

    def _claim_growth(self) -> bool:
        """Take the blocks that decoding needs in the next step; return whether someone had to be preempted for it."""
        before = self.preemptions
        while (new := self._growth[-self._steps % self._pool.block]) > self._pool.free:
            if self._partial is None:
                self._preempt_last()
            else:
                self._preempt_partial()
        self._pool.take(new)
        self._claimed = 1
        return self.preemptions > before

    def _fitting(self, steps: int) -> int:
        """Return how many of ``steps`` the free blocks allow, at least one: for that one, the last may have to go."""
        before = self.preemptions
        if self._claimed == 0:
            self._claim_growth()
        if self.preemptions > before:
            return 1
        fit, left = 1, self._pool.free
        while fit < steps:
            left -= self._growth[-(self._steps + fit) % self._pool.block]
            if left < 0:
                break
            fit += 1
        return fit

    def _new_blocks(self, first: int, steps: int) -> int:
        """Return the blocks that decoding fills anew over ``steps`` steps from step ``first`` on."""
        block, growth = self._pool.block, self._growth
        new = 0
        if steps >= block:
            new = steps // block * self._batch
            steps %= block
        for step in range(first, first + steps):
            new += growth[-step % block]
        return new

    def _preempt_last(self) -> None:
        """Send the request that was admitted last back to the queue, to compute all its tokens again."""
        place = max(range(len(self._decoding)), key=lambda at: self._decoding[at][1])
        end_step, _, request, end_tokens = self._decoding.pop(place)
        heapify(self._decoding)
        left = end_step - self._steps
        self._leave(request, end_step, end_tokens, end_tokens - left, again=True)
        self._resumed[request] = (end_tokens - left + 1, left)
        if self.stretches is not None:
            first, count = self._answers.segments[request].pop()
            self._answers.segments[request].append((first, count - left))
        self._put_back(request)

    def _preempt_partial(self) -> None:
        """Send the request whose prompt is under way back to the queue: it came last of all."""
        request, there, _ = self._partial or (0, 0, 0)
        self._partial = None
        own = -(-there // self._pool.block) - self._shared.pop(request, 0)
        self._pool.release(self._work.prefix[request], request, own, again=True)
        self._put_back(request)

    def _put_back(self, request: int) -> None:
        self.preemptions += 1
        self._waiting.appendleft(request)
