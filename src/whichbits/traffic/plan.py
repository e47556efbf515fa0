"""What a cell will send, decided before anything is sent and equal for every arm."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from whichbits.study.model import (
    CellSize,
    ChatTraffic,
    Load,
    PrefixRepetitionTraffic,
    RandomTraffic,
    Study,
    Traffic,
)
from whichbits.traffic.draws import Draws, Integers
from whichbits.traffic.lengths import log_normal_lengths, uniform_lengths


class Message(NamedTuple):
    """One turn of a conversation in words."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class PlannedRequest:
    """One request to come. ``offset_ns`` is its scheduled send after the cell's start; None in a closed loop.

    ``prompt`` holds token ids, or nothing where ``messages`` say it in words. A later turn of a session has no
    offset of its own: it is due ``think_ns`` after the request of index ``follows`` has ended.
    """

    index: int
    prompt: tuple[int, ...]
    output_tokens: int
    offset_ns: int | None
    prefix: int | None = None
    messages: tuple[Message, ...] = ()
    follows: int | None = None
    think_ns: int = 0


@dataclass(frozen=True, slots=True)
class Shape:
    """The sizes of a cell's requests, one entry a request; ``prefix`` is -1 where none is shared."""

    prefix: Integers
    prefix_tokens: int
    own_tokens: Integers
    output_tokens: Integers


def plan_cell(study: Study, load: Load, repeat: int) -> list[PlannedRequest]:
    """Return the requests of one cell: the same for every arm, with other token ids in every cell.

    Lengths and arrivals depend on the seed and the load alone: a repeat is the same work again, so that what differs
    between repeats is the machine. Token ids depend on the repeat as well: no cell finds another's prompts in a cache.
    """
    count = request_count(study.cell, load)
    shape = _SHAPES[type(study.traffic)](study.traffic, Draws(study.seed, "lengths", str(load)), count)
    prompts = _prompts(shape, Draws(study.seed, "ids", str(load), "repeat", repeat), study.token_ids)
    return [
        PlannedRequest(
            index,
            prompt,
            int(shape.output_tokens[index]),
            offset,
            None if shape.prefix[index] < 0 else int(shape.prefix[index]),
        )
        for index, (prompt, offset) in enumerate(zip(prompts, _offsets(study.seed, load, count), strict=True))
    ]


def plan_warm_up(study: Study, round_number: int) -> list[PlannedRequest]:
    """Return a round of warm-up: the study's own traffic at a middle load, with ids that no cell uses."""
    load = Load(concurrency=study.warm_up.at_least_requests)
    size = CellSize(requests=study.warm_up.at_least_requests)
    rehearsal = study.model_copy(update={"cell": size, "cache": "salt"})
    return plan_cell(rehearsal, load, -1 - round_number)


def request_count(size: CellSize, load: Load) -> int:
    """Return how many requests a cell at ``load`` sends."""
    if size.requests is not None:
        return size.requests
    wanted = load.request_rate * size.seconds if load.request_rate else size.per_stream * (load.concurrency or 1)
    return round(min(max(wanted, size.at_least), size.at_most))


def _offsets(seed: int, load: Load, count: int) -> list[int | None]:
    """Return Poisson arrivals in ns after the cell's start, or Nones for a closed loop."""
    if load.request_rate is None:
        return [None] * count
    gaps = Draws(seed, "arrivals", str(load)).exponential(count) / load.request_rate
    return [int(offset) for offset in np.cumsum(gaps) * 1e9]


def _prompts(shape: Shape, draws: Draws, ids: tuple[int, int]) -> list[tuple[int, ...]]:
    low, high = ids
    distinct = int(shape.prefix.max()) + 1
    prefixes = [tuple(draws.integers(low, high, shape.prefix_tokens).tolist()) for _ in range(distinct)]
    prompts = []
    for prefix, own in zip(shape.prefix.tolist(), shape.own_tokens.tolist(), strict=True):
        shared = () if prefix < 0 else prefixes[prefix]
        prompts.append(shared + tuple(draws.integers(low, high, own).tolist()))
    return prompts


def _chat(traffic: ChatTraffic, draws: Draws, count: int) -> Shape:
    longest_input = traffic.longest_input or 8 * traffic.input_tokens
    longest_output = traffic.longest_output or 4 * traffic.output_tokens
    own = log_normal_lengths(draws, count, traffic.input_tokens, traffic.input_sigma, longest_input)
    output = log_normal_lengths(draws, count, traffic.output_tokens, traffic.output_sigma, longest_output)
    return _unshared(own, output)


def _random(traffic: RandomTraffic, draws: Draws, count: int) -> Shape:
    own = uniform_lengths(draws, count, traffic.input_tokens, traffic.range_ratio)
    output = uniform_lengths(draws, count, traffic.output_tokens, traffic.range_ratio)
    return _unshared(own, output)


def _unshared(own: Integers, output: Integers) -> Shape:
    return Shape(np.full(len(own), -1), 0, own, output)


def _prefix_repetition(traffic: PrefixRepetitionTraffic, draws: Draws, count: int) -> Shape:
    """Use every prefix equally often, within one: the remainder is sent too, not dropped."""
    prefix = (np.arange(count) % traffic.prefixes)[draws.order(count)]
    own = np.full(count, traffic.suffix_tokens)
    return Shape(prefix, traffic.prefix_tokens, own, np.full(count, traffic.output_tokens))


_SHAPES: dict[type[Traffic], Callable[..., Shape]] = {
    ChatTraffic: _chat,
    PrefixRepetitionTraffic: _prefix_repetition,
    RandomTraffic: _random,
}
