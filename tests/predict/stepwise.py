"""A second engine, written to be plain: each step, token and block by itself. The oracle of the fast one."""

from collections import OrderedDict, deque
from dataclasses import dataclass, field

from whichbits.predict.simulation.pace import Pace
from whichbits.predict.simulation.scheduler import Limits
from whichbits.predict.simulation.workload import Workload

Hash = tuple[str, int, int]


@dataclass
class Pool:
    """Blocks one by one, as vLLM's block_pool.py keeps them."""

    size: int
    remembers: bool
    queue: "OrderedDict[int, None]" = field(default_factory=OrderedDict)
    content: dict[int, Hash] = field(default_factory=dict)
    place: dict[Hash, int] = field(default_factory=dict)
    references: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.queue.update((block, None) for block in range(self.size))

    def new(self) -> int:
        block, _ = self.queue.popitem(last=False)
        if block in self.content:
            del self.place[self.content.pop(block)]
        self.references[block] = 1
        return block

    def touch(self, block: int) -> None:
        if self.references[block] == 0:
            del self.queue[block]
        self.references[block] += 1

    def fill(self, block: int, name: Hash) -> None:
        if self.remembers and name not in self.place and block not in self.content:
            self.place[name] = block
            self.content[block] = name

    def free(self, blocks: list[int]) -> None:
        for block in reversed(blocks):
            self.references[block] -= 1
            if self.references[block] == 0:
                self.queue[block] = None


@dataclass
class Request:
    number: int
    computed: int = 0
    tokens: int = 0
    answered: int = 0
    prefill: bool = True
    blocks: list[int] = field(default_factory=list)


class Stepwise:
    """Token times of a closed loop over one replica, by the rules of vLLM's V1 scheduler."""

    def __init__(self, pace: Pace, limits: Limits, pool: Pool, block: int, *, work: Workload, concurrency: int) -> None:
        self.pace, self.limits, self.pool, self.block, self.work = pace, limits, pool, block, work
        self.times: list[list[float]] = [[] for _ in range(len(work))]
        self.cached = [0] * len(work)
        self.preemptions = 0
        self.front = self.now = self.began = self.loop_wait = 0.0
        self.coming: list[tuple[float, int]] = []
        self.next = 0
        self.waiting: deque[Request] = deque()
        self.running: list[Request] = []
        for _ in range(min(concurrency, len(work))):
            self.send(0.0)

    def send(self, now: float) -> None:
        if self.next < len(self.work):
            self.front = max(self.front, now) + self.pace.request_turn
            self.coming.append((self.front + self.pace.request_in + self.pace.loop_turns * self.loop_wait, self.next))
            self.next += 1

    def play(self) -> None:
        while self.coming or self.waiting or self.running:
            seen_until = self.began if self.limits.schedules_ahead else self.now
            if not (self.waiting or self.running):
                seen_until = self.now = max(self.now, min(self.coming)[0])
            for arrival in sorted(self.coming):
                if arrival[0] <= seen_until:
                    self.coming.remove(arrival)
                    request = Request(arrival[1], tokens=self.work.prompt_tokens[arrival[1]])
                    self.waiting.append(request)
            self.step()

    def step(self) -> None:
        chunks: dict[int, int] = {}
        budget = self.limits.max_num_batched_tokens
        preempted = False
        at = 0
        while at < len(self.running) and budget:
            request = self.running[at]
            chunk = min(request.tokens - request.computed, budget)
            while not self.room(request, chunk):
                last = self.running.pop()
                self.pool.free(last.blocks)
                last.blocks, last.computed, last.prefill = [], 0, True
                budget += chunks.pop(last.number, 0)
                self.waiting.appendleft(last)
                self.preemptions += 1
                preempted = True
                if last is request:
                    break
            if request not in self.running:
                break
            self.grow(request, chunk)
            chunks[request.number] = chunk
            budget -= chunk
            at += 1
        while self.waiting and budget and not preempted and len(self.running) < self.limits.max_num_seqs:
            request = self.waiting[0]
            found = self.find(request)
            chunk = min(request.tokens - len(found) * self.block, budget)
            idle = sum(self.pool.references[block] == 0 for block in found)
            wanted = -(-(len(found) * self.block + chunk) // self.block) - len(found)
            if wanted + idle > len(self.pool.queue):
                break
            self.waiting.popleft()
            for block in found:
                self.pool.touch(block)
            request.blocks, request.computed = list(found), len(found) * self.block
            if not request.answered:
                self.cached[request.number] = request.computed
            self.grow(request, chunk)
            self.running.append(request)
            chunks[request.number] = chunk
            budget -= chunk
        self.execute(chunks)

    def room(self, request: Request, chunk: int) -> bool:
        return -(-(request.computed + chunk) // self.block) - len(request.blocks) <= len(self.pool.queue)

    def grow(self, request: Request, chunk: int) -> None:
        while len(request.blocks) * self.block < request.computed + chunk:
            request.blocks.append(self.pool.new())
        for position in range((request.computed + chunk) // self.block):
            self.pool.fill(request.blocks[position], self.name(request, position))

    def find(self, request: Request) -> list[int]:
        found = []
        for position in range((request.tokens - 1) // self.block):
            block = self.pool.place.get(self.name(request, position))
            if block is None:
                break
            found.append(block)
        return found

    def name(self, request: Request, position: int) -> Hash:
        prefix = self.work.prefix[request.number]
        if prefix >= 0 and (position + 1) * self.block <= self.work.prefix_tokens:
            return ("shared", prefix, position)
        return ("own", request.number, position)

    def execute(self, chunks: dict[int, int]) -> None:
        pace = self.pace
        batch = [r for r in self.running if r.number in chunks]
        decoding = [r for r in batch if not r.prefill]
        prefill = [r for r in batch if r.prefill]
        kv = sum(r.tokens for r in decoding)
        if prefill:
            sampled = [r for r in batch if r.computed + chunks[r.number] == r.tokens]
            seconds = pace.mixed[sum(chunks.values())] + pace.head[len(sampled)] + pace.per_kv_token * kv
            for r in prefill:
                chunk = chunks[r.number]
                seconds += pace.per_attended_pair * chunk * (r.computed + chunk / 2)
                seconds += pace.per_prefill_kv_token * r.computed
        else:
            seconds = pace.decode[len(decoding)] + pace.per_kv_token * kv
        self.began = self.now
        self.now += seconds
        handed = pace.token_turn * len(batch)
        self.front = max(self.front, self.now) + handed
        seen = self.front - 0.5 * handed
        self.loop_wait = handed * min(1.0, handed / seconds)
        for r in batch:
            r.computed += chunks[r.number]
        for r in batch:
            if r.computed == r.tokens:
                self.times[r.number].append(seen + pace.token_out)
                r.prefill = False
                r.answered += 1
                r.tokens += 1
        for r in batch:
            if r.answered == self.work.output_tokens[r.number]:
                self.running.remove(r)
                self.pool.free(r.blocks)
                self.send(seen + pace.token_out)
