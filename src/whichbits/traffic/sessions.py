"""Conversations of several turns with drawn ids: every prompt begins with the whole of the one before."""

from collections.abc import Iterator
from itertools import accumulate

from whichbits.study.drawn_traffic import SessionsTraffic
from whichbits.traffic.asked import Asked
from whichbits.traffic.draws import Draws
from whichbits.traffic.lengths import uniform_lengths
from whichbits.traffic.request import PlannedRequest
from whichbits.traffic.thinking import think_ns

Ids = tuple[int, ...]


def sessions(traffic: SessionsTraffic, asked: Asked) -> list[PlannedRequest]:
    """Return ``asked.count`` turns, those of a session next to each other; the last session may end early.

    What follows an answer in the next prompt are the answer's *planned* tokens: what the server really answered plays
    no part, so that arms whose answers differ get the same prompts.
    """
    lengths = asked.work("lengths")
    turns = _turns(traffic, lengths, asked.count)
    later = asked.count - len(turns)
    first = iter(_around(lengths, len(turns), traffic.first_tokens, traffic.range_ratio))
    more = iter(_around(lengths, later, traffic.input_tokens, traffic.range_ratio))
    answers = iter(_around(lengths, asked.count, traffic.output_tokens, traffic.range_ratio))
    thinks = iter(think_ns(traffic, asked.work("think"), later))
    ids = _Ids(asked.own("ids"), asked.study.token_ids)
    shared = ids.draw(traffic.shared_tokens)
    planned: list[PlannedRequest] = []
    for count in turns:
        inputs = [next(first), *(next(more) for _ in range(count - 1))]
        outputs = [next(answers) for _ in range(count)]
        for turn, prompt in enumerate(_prompts(ids, shared, inputs, outputs)):
            index = len(planned)
            follows, think = (index - 1, next(thinks)) if turn else (None, 0)
            planned.append(PlannedRequest(index, prompt, outputs[turn], None, follows=follows, think_ns=think))
    return planned


class _Ids:
    """Draws of token ids from the study's range."""

    def __init__(self, draws: Draws, ids: tuple[int, int]) -> None:
        self._draws = draws
        self._range = ids

    def draw(self, count: int) -> Ids:
        return tuple(self._draws.integers(*self._range, count).tolist()) if count else ()


def _prompts(ids: _Ids, shared: Ids, inputs: list[int], outputs: list[int]) -> Iterator[Ids]:
    """Yield the session's prompts; each is the one before, the planned answer to it, and new input."""
    history = shared
    for asked, answered in zip(inputs, outputs, strict=True):
        prompt = history + ids.draw(asked)
        yield prompt
        history = prompt + ids.draw(answered)


def _turns(traffic: SessionsTraffic, draws: Draws, count: int) -> list[int]:
    """Return the turns of each session, ``count`` in all."""
    most = _around(draws, count, traffic.turns, traffic.range_ratio)
    ends = [min(end, count) for end in accumulate(most)]
    used = ends.index(count) + 1
    return [after - before for before, after in zip([0, *ends], ends[:used], strict=False)]


def _around(draws: Draws, count: int, middle: int, ratio: float) -> list[int]:
    return uniform_lengths(draws, count, middle, ratio).tolist() if count else []
