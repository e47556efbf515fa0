"""One replica in virtual time: when the steps that its scheduler chooses begin and end, and when they are seen.

Between two scheduling events every step is alike but for the growing KV cache, whose cost is linear. So a stretch of
n decode steps is one event: it starts at t, and step j of it ends at t + a j + b j^2.

Before the engine stands one process that takes requests in and hands tokens out, one after the other. If tokens come
faster than it hands them out it falls behind, and everything that is seen from outside is seen that much later. A
request on its way in takes several turns of that process's event loop, and each finds it busy with a step's tokens as
often as they take of a step's time: what it waits is that share of that time.
"""

from collections import deque
from math import ceil, inf, isnan, sqrt

from whichbits.predict.simulation.answers import Answers
from whichbits.predict.simulation.blocks import BlockPool
from whichbits.predict.simulation.pace import Pace
from whichbits.predict.simulation.scheduler import Limits, Scheduler
from whichbits.predict.simulation.workload import Workload

Stretch = tuple[int, float, float, float, float]
"""Steps n, start t, a and b (step j of n ends at t + a j + b j^2), and how much later its last tokens are seen."""


class Replica:
    """A server process. ``until`` is when the present step or stretch ends; infinite while it is idle.

    Drive it by ``arrive``, and by ``step`` whenever the time is ``until``.
    """

    __slots__ = (
        "_ahead",
        "_answers",
        "_delay",
        "_front_free",
        "_incoming",
        "_loop_wait",
        "_pace",
        "_scheduler",
        "_start",
        "_stretch",
        "stretches",
        "until",
    )

    def __init__(
        self, speed: tuple[Pace, Limits], pool: BlockPool, work: Workload, answers: Answers, *, keep_steps: bool = False
    ) -> None:
        """``keep_steps`` keeps every stretch and every request's place in them, from which token times follow."""
        self._pace, limits = speed
        self._ahead = limits.schedules_ahead
        # Who came while a step ran, with the time, if steps are chosen ahead.
        self._incoming: deque[tuple[float, int]] = deque()
        self._answers = answers
        self._scheduler = Scheduler(limits, pool, work, answers, keep_steps=keep_steps)
        self.until = inf
        self.stretches: list[Stretch] | None = [] if keep_steps else None
        self._start = self._front_free = self._delay = self._loop_wait = 0.0
        self._stretch: tuple[int, float, float] = (0, 0.0, 0.0)

    @property
    def preemptions(self) -> int:
        """How often a request was sent back to the queue."""
        return self._scheduler.preemptions

    def take_in(self, now: float) -> float:
        """Return when a request sent at ``now`` reaches the engine's queue, and keep the front end busy with it."""
        pace = self._pace
        begun = max(now, self._front_free)
        self._front_free = begun + pace.request_turn
        return self._front_free + pace.request_in + pace.loop_turns * self._loop_wait

    def arrive(self, request: int, now: float) -> None:
        """Queue a request that comes at ``now``; a stretch of decode steps ends early to let it in."""
        scheduler = self._scheduler
        alone = not (scheduler.waiting or self._incoming)
        if self._ahead and self.until < inf:
            self._incoming.append((now, request))
        else:
            scheduler.waiting.append(request)
        if self.until == inf:
            self._plan(now)
        elif alone and self._stretch[0] > 1 and not scheduler.is_full:
            self._cut(now)

    def step(self) -> list[int]:
        """Finish the step or stretch that ends at ``until``, return the requests that it ended, and plan the next."""
        now = self.until
        scheduler = self._scheduler
        self._hand_out(now)
        scheduler.advance(self._stretch[0])
        ended = scheduler.end_decoding()
        if scheduler.chunks:
            first_s, seen = self._answers.first_s, now + self._delay
            for request in scheduler.end_chunks(ended):
                if isnan(first_s[request]):
                    first_s[request] = seen
        if ended:
            last_s, seen = self._answers.last_s, now + self._delay
            for request in ended:
                last_s[request] = seen
        self._plan(now)
        return ended

    def _plan(self, now: float) -> None:
        scheduler = self._scheduler
        if self._incoming:
            self._let_in(now)
        self._start = now
        before = scheduler.preemptions
        if scheduler.wants_prefill and scheduler.fill_step():
            self._plan_mixed(now)
        elif scheduler.batch:
            self._plan_stretch(now, lost_one=scheduler.preemptions > before)
        else:
            self.until = inf

    def _let_in(self, now: float) -> None:
        """Let in who came before the last step began, since the next was chosen then; an idle engine takes everyone."""
        scheduler, incoming = self._scheduler, self._incoming
        steps, linear, square = self._stretch
        before = self._start + (steps - 1) * (linear + square * (steps - 1))
        if not (scheduler.batch or scheduler.wants_prefill):
            before = now
        while incoming and incoming[0][0] <= before:
            scheduler.waiting.append(incoming.popleft()[1])

    def _plan_mixed(self, now: float) -> None:
        """Time one step that computes the chunks beside a token for everyone who decodes."""
        pace, batch = self._pace, self._scheduler.batch
        tokens, sampled = batch, batch
        seconds = pace.per_kv_token * (self._scheduler.kv + batch)
        for _, there, chunk, wanted in self._scheduler.chunks:
            tokens += chunk
            sampled += there + chunk == wanted
            seconds += pace.per_attended_pair * chunk * (there + 0.5 * chunk) + pace.per_prefill_kv_token * there
        seconds += pace.mixed[tokens] + pace.head[sampled]
        self._stretch = (1, seconds, 0.0)
        self.until = now + seconds

    def _plan_stretch(self, now: float, *, lost_one: bool) -> None:
        """Time the steps of pure decode until something happens; someone may be preempted to make room for them."""
        scheduler, pace = self._scheduler, self._pace
        steps = scheduler.steps_to_next(lost_one=lost_one)
        if self._incoming and not (scheduler.waiting or scheduler.is_full):
            steps = 1
        batch = scheduler.batch
        half = 0.5 * pace.per_kv_token * batch
        linear = pace.decode[batch] + pace.per_kv_token * scheduler.kv + half
        self._stretch = (steps, linear, half)
        self.until = now + steps * (linear + half * steps)

    def _cut(self, now: float) -> None:
        """Let the stretch end with the step that is under way at ``now``, or with the next, if it is chosen already."""
        steps, linear, square = self._stretch
        passed = now - self._start
        reached = ceil(2 * passed / (linear + sqrt(linear * linear + 4 * square * passed)))
        reached = max(reached, 1) + self._ahead
        if reached < steps:
            self._stretch = (reached, linear, square)
            self.until = self._start + reached * (linear + square * reached)

    def _hand_out(self, now: float) -> None:
        """Keep the front end busy with the tokens of the steps that end ``now``, and note how far it is behind."""
        steps, linear, square = self._stretch
        batch_out = self._pace.token_turn * (self._scheduler.batch + len(self._scheduler.chunks))
        begun = max(self._start, self._front_free)
        free, soonest = begun + steps * batch_out, now + batch_out
        self._front_free = free = max(soonest, free)
        self._delay = free - now - 0.5 * batch_out
        last = linear + square * (2 * steps - 1)
        self._loop_wait = batch_out * batch_out / last if batch_out < last else batch_out
        if self.stretches is not None:
            self.stretches.append((steps, self._start, linear, square, self._delay))
