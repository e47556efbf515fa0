"""What runs in each step: the scheduler of vLLM's V1 engine over a paged KV cache.

A step carries one token of every decoding request, then as much prefill as the token budget, ``max_num_seqs`` and the
block pool allow: first the prompt that is under way, then waiting ones in order. Who finds no block for its next token
preempts the request that came last, which later computes everything anew (``v1/core/sched/scheduler.py``).
"""

from collections import deque
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from whichbits.predict.simulation.answers import Answers
from whichbits.predict.simulation.blocks import BlockPool
from whichbits.predict.simulation.workload import Workload


@dataclass(frozen=True)
class Limits:
    """What bounds a step, under vLLM's names."""

    max_num_batched_tokens: int
    max_num_seqs: int
    schedules_ahead: bool = False
    """Whether a step is chosen while the one before it runs, so that who comes waits for the step after next."""


class Scheduler:
    """The requests of one replica. ``batch`` of them decode and hold ``kv`` tokens; ``steps`` have been taken.

    Plan a step by ``fill_step``, or several without prefill by ``steps_to_next``; then say that they are over by
    ``advance``, ``end_decoding`` and ``end_chunks``, in this order.
    """

    __slots__ = (
        "_admitted",
        "_answers",
        "_claimed",
        "_decoding",
        "_growth",
        "_keep_steps",
        "_limits",
        "_own",
        "_partial",
        "_pool",
        "_resumed",
        "_shared",
        "_work",
        "batch",
        "chunks",
        "kv",
        "preemptions",
        "steps",
        "waiting",
    )

    def __init__(self, limits: Limits, pool: BlockPool, work: Workload, answers: Answers, *, keep_steps: bool) -> None:
        """``keep_steps`` notes in which steps each request got its tokens."""
        self._limits, self._pool, self._work, self._answers = limits, pool, work, answers
        self._own = work.own
        self._keep_steps = keep_steps
        self.waiting: deque[int] = deque()
        # Prefill of this step: (request, tokens already there, tokens of this chunk, tokens wanted in all).
        self.chunks: list[tuple[int, int, int, int]] = []
        self._partial: tuple[int, int, int] | None = None
        # Decoding requests by (step after which they end, order of admission, request, KV tokens at their end).
        self._decoding: list[tuple[int, int, int, int]] = []
        # What a preempted request needs when it comes back: (tokens to compute, tokens left to answer).
        self._resumed: dict[int, tuple[int, int]] = {}
        # How many of a request's blocks are its prefix's.
        self._shared: dict[int, int] = {}
        # Decoding requests by the step, modulo a block's size, before which they need a new block.
        self._growth = [0] * pool.block
        self.batch = self.kv = self.steps = self.preemptions = 0
        self._admitted = self._claimed = 0

    @property
    def is_full(self) -> bool:
        """Whether whoever comes now has to wait in any case."""
        return self.batch >= self._limits.max_num_seqs

    @property
    def wants_prefill(self) -> bool:
        """Whether any prompt waits or is under way."""
        return bool(self.waiting) or self._partial is not None

    def fill_step(self) -> bool:
        """Choose this step's prefill; return whether there is any. Everyone who decodes has a token and its block."""
        if self.batch and self._claim_growth():
            return False
        budget = self._limits.max_num_batched_tokens - self.batch
        if self._partial is not None:
            budget = self._go_on(budget)
        room = self._limits.max_num_seqs - self.batch - len(self.chunks)
        while self.waiting and budget > 0 and room > 0:
            taken = self._admit(self.waiting[0], budget)
            if not taken:
                break
            self.waiting.popleft()
            budget -= taken
            room -= 1
        return bool(self.chunks)

    def steps_to_next(self, *, lost_one: bool) -> int:
        """Return the steps of pure decode until someone ends or blocks run out.

        Only one if someone had to go: he may come back in the next.
        """
        steps = 1 if lost_one else self._decoding[0][0] - self.steps
        if self.batch * (steps // self._pool.block + 1) > self._pool.free:
            return self._fitting(steps)
        return steps

    def advance(self, steps: int) -> None:
        """Account for steps that have passed: KV tokens and blocks."""
        if self.batch:
            self.kv += steps * self.batch
            claimed = self._claimed
            if steps > claimed:
                new = self._new_blocks(self.steps + claimed, steps - claimed)
                if new:
                    self._pool.take(new)
        self._claimed = 0
        self.steps += steps

    def end_decoding(self) -> list[int]:
        """Take out the requests whose last token came with the last step."""
        ended: list[int] = []
        decoding, steps = self._decoding, self.steps
        while decoding and decoding[0][0] == steps:
            _, _, request, kv_tokens = heappop(decoding)
            self._leave(request, steps, kv_tokens, kv_tokens)
            ended.append(request)
        return ended

    def end_chunks(self, ended: list[int]) -> list[int]:
        """Return the requests whose prompt is complete: they decode from now on, or join ``ended`` after one token."""
        self._partial = None
        begun: list[int] = []
        for request, there, chunk, wanted in self.chunks:
            if there + chunk < wanted:
                self._partial = (request, there + chunk, wanted)
            else:
                begun.append(request)
                if self._begin_decoding(request, wanted):
                    ended.append(request)
        self.chunks = []
        return begun

    def _begin_decoding(self, request: int, tokens: int) -> bool:
        """Add a request with ``tokens`` in the cache to the batch; return whether its first token is its last."""
        left = self._work.output_tokens[request]
        if self._resumed:
            left = self._resumed.pop(request, (0, left))[1]
        if self._keep_steps:
            self._answers.segments[request].append((self.steps - 1, left))
        end_step, end_tokens = self.steps + left - 1, tokens + left - 1
        self.batch += 1
        self.kv += tokens
        self._growth[(end_tokens - end_step) % self._pool.block] += 1
        if left == 1:
            self._leave(request, end_step, end_tokens, tokens)
            return True
        self._admitted += 1
        heappush(self._decoding, (end_step, self._admitted, request, end_tokens))
        return False

    def _leave(self, request: int, end_step: int, end_tokens: int, tokens: int, *, again: bool = False) -> None:
        """Take a request out of the batch while it holds ``tokens``, and give its blocks back."""
        block = self._pool.block
        self.batch -= 1
        self.kv -= tokens
        self._growth[(end_tokens - end_step) % block] -= 1
        own = -(-tokens // block) - (self._shared.pop(request, 0) if self._shared else 0)
        name = request if self._own is None else self._own[request]
        self._pool.release(self._work.prefix[request], name, own, again=again)

    def _go_on(self, budget: int) -> int:
        """Take the next chunk of the prompt under way; it goes back to the queue if there are no blocks for it."""
        request, there, wanted = self._partial or (0, 0, 0)
        chunk = min(wanted - there, budget)
        block = self._pool.block
        new = -(-(there + chunk) // block) - -(-there // block)
        if new <= self._pool.free:
            self._pool.take(new)
            self._share(request, there + chunk)
            self.chunks.append((request, there, chunk, wanted))
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
        own = request if self._own is None else self._own[request]
        found = pool.found(prefix, own, wanted, self._same_tokens(request))
        there = found * pool.block
        chunk = min(wanted - there, budget)
        shared = pool.shared(prefix, found)
        if not pool.admit(prefix, own, found, -(-(there + chunk) // pool.block)):
            return 0
        if prefix >= 0:
            self._shared[request] = shared
            self._share(request, there + chunk)
        if found and request not in self._resumed:
            self._answers.cached_tokens[request] = there
        self.chunks.append((request, there, chunk, wanted))
        return chunk

    def _same_tokens(self, request: int) -> int | None:
        """Return how many tokens a later turn has in common with what its session left in the cache; else None.

        That is the prompt of the turn before: what was answered to it is not what the next prompt says it was.
        """
        follows = self._work.follows
        if not follows or follows[request] < 0 or request in self._resumed:
            return None
        return self._work.prompt_tokens[follows[request]]

    def _admit_new(self, request: int, wanted: int, budget: int) -> int:
        """Start a request of which the cache can know nothing: the usual case, and the one that has to be fast."""
        chunk = min(wanted, budget)
        pool = self._pool
        blocks = -(-chunk // pool.block)
        if blocks > pool.free:
            return 0
        pool.take(blocks)
        self.chunks.append((request, 0, chunk, wanted))
        return chunk

    def _share(self, request: int, tokens: int) -> None:
        """Let others find a prefix from the moment on at which it is scheduled, as vLLM does."""
        prefix = self._work.prefix[request]
        if prefix >= 0:
            self._shared[request] += self._pool.remember(prefix, tokens)

    def _claim_growth(self) -> bool:
        """Take the blocks that decoding needs in the next step; return whether someone had to be preempted for it."""
        before = self.preemptions
        while (new := self._growth[-self.steps % self._pool.block]) > self._pool.free:
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
            left -= self._growth[-(self.steps + fit) % self._pool.block]
            if left < 0:
                break
            fit += 1
        return fit

    def _new_blocks(self, first: int, steps: int) -> int:
        """Return the blocks that decoding fills anew over ``steps`` steps from step ``first`` on."""
        block, growth = self._pool.block, self._growth
        whole, rest = divmod(steps, block)
        above = -first % block + 1
        below = above - rest
        if below >= 0:
            return whole * self.batch + sum(growth[below:above])
        return whole * self.batch + sum(growth[:above]) + sum(growth[below:])

    def _preempt_last(self) -> None:
        """Send the request that was admitted last back to the queue, to compute all its tokens again."""
        place = max(range(len(self._decoding)), key=lambda at: self._decoding[at][1])
        end_step, _, request, end_tokens = self._decoding.pop(place)
        heapify(self._decoding)
        left = end_step - self.steps
        self._leave(request, end_step, end_tokens, end_tokens - left, again=True)
        self._resumed[request] = (end_tokens - left + 1, left)
        if self._keep_steps:
            first, count = self._answers.segments[request].pop()
            self._answers.segments[request].append((first, count - left))
        self._put_back(request)

    def _preempt_partial(self) -> None:
        """Send the request whose prompt is under way back to the queue: it came last of all."""
        request, there, _ = self._partial or (0, 0, 0)
        self._partial = None
        own = -(-there // self._pool.block) - self._shared.pop(request, 0)
        name = request if self._own is None else self._own[request]
        self._pool.release(self._work.prefix[request], name, own, again=True)
        self._put_back(request)

    def _put_back(self, request: int) -> None:
        self.preemptions += 1
        self.waiting.appendleft(request)
