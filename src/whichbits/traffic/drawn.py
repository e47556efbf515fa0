"""Single requests of drawn lengths and ids: chat, random, and prompts with a shared beginning."""

from dataclasses import dataclass

import numpy as np

from whichbits.study.drawn_traffic import ChatTraffic, PrefixRepetitionTraffic, RandomTraffic, SharedPromptTraffic
from whichbits.traffic.asked import Asked
from whichbits.traffic.draws import Draws, Integers
from whichbits.traffic.lengths import log_normal_lengths, uniform_lengths
from whichbits.traffic.request import PlannedRequest


@dataclass(frozen=True, slots=True)
class Shape:
    """The sizes of a cell's requests, one entry a request; ``prefix`` is -1 where none is shared."""

    prefix: Integers
    prefix_tokens: int
    own_tokens: Integers
    output_tokens: Integers


def chat(traffic: ChatTraffic, asked: Asked) -> list[PlannedRequest]:
    """Return prompts that share nothing, of log-normal lengths."""
    draws, count = asked.work("lengths"), asked.count
    longest_input = traffic.longest_input or 8 * traffic.input_tokens
    longest_output = traffic.longest_output or 4 * traffic.output_tokens
    own = log_normal_lengths(draws, count, traffic.input_tokens, traffic.input_sigma, longest_input)
    output = log_normal_lengths(draws, count, traffic.output_tokens, traffic.output_sigma, longest_output)
    return _requests(_unshared(own, output), asked)


def random(traffic: RandomTraffic, asked: Asked) -> list[PlannedRequest]:
    """Return prompts that share nothing, of lengths in a range."""
    own, output = _uniform(traffic, asked)
    return _requests(_unshared(own, output), asked)


def shared_prompt(traffic: SharedPromptTraffic, asked: Asked) -> list[PlannedRequest]:
    """Return prompts with one beginning, each with a part of its own."""
    own, output = _uniform(traffic, asked)
    return _requests(Shape(np.zeros(asked.count, np.int64), traffic.shared_tokens, own, output), asked)


def prefix_repetition(traffic: PrefixRepetitionTraffic, asked: Asked) -> list[PlannedRequest]:
    """Use every prefix equally often, within one: the remainder is sent too, not dropped."""
    count = asked.count
    prefix = (np.arange(count) % traffic.prefixes)[asked.work("lengths").order(count)]
    own, output = np.full(count, traffic.suffix_tokens), np.full(count, traffic.output_tokens)
    return _requests(Shape(prefix, traffic.prefix_tokens, own, output), asked)


def _uniform(traffic: RandomTraffic | SharedPromptTraffic, asked: Asked) -> tuple[Integers, Integers]:
    draws = asked.work("lengths")
    own = uniform_lengths(draws, asked.count, traffic.input_tokens, traffic.range_ratio)
    return own, uniform_lengths(draws, asked.count, traffic.output_tokens, traffic.range_ratio)


def _unshared(own: Integers, output: Integers) -> Shape:
    return Shape(np.full(len(own), -1), 0, own, output)


def _requests(shape: Shape, asked: Asked) -> list[PlannedRequest]:
    prompts = _prompts(shape, asked.own("ids"), asked.study.token_ids)
    prefixes = shape.prefix.tolist()
    return [
        PlannedRequest(index, prompt, output, None, None if prefix < 0 else prefix)
        for index, (prompt, output, prefix) in enumerate(
            zip(prompts, shape.output_tokens.tolist(), prefixes, strict=True)
        )
    ]


def _prompts(shape: Shape, draws: Draws, ids: tuple[int, int]) -> list[tuple[int, ...]]:
    low, high = ids
    distinct = int(shape.prefix.max()) + 1
    prefixes = [tuple(draws.integers(low, high, shape.prefix_tokens).tolist()) for _ in range(distinct)]
    prompts = []
    for prefix, own in zip(shape.prefix.tolist(), shape.own_tokens.tolist(), strict=True):
        shared = () if prefix < 0 else prefixes[prefix]
        prompts.append(shared + tuple(draws.integers(low, high, own).tolist()))
    return prompts
