"""Conversations of a ShareGPT-like file as requests: their first questions, or all their turns as sessions."""

from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import count as counting
from itertools import takewhile
from typing import Any

from whichbits.study.recorded_traffic import ShareGptTraffic
from whichbits.traffic.asked import Asked
from whichbits.traffic.conversations import Exchanged, all_exchanges, first_exchange
from whichbits.traffic.facts import file_facts, without_usable_row
from whichbits.traffic.request import Message, PlannedRequest
from whichbits.traffic.rows import Rows, find_rows
from whichbits.traffic.salt import salt
from whichbits.traffic.thinking import think_ns
from whichbits.traffic.tokens import Tokens, message_tokens, tokens_by
from whichbits.traffic.version import FileVersion, version_of


def sharegpt(traffic: ShareGptTraffic, asked: Asked) -> list[PlannedRequest]:
    """Return ``asked.count`` requests of conversations drawn without replacement, lap by lap.

    Raises:
        BadInput: ``traffic_file_unreadable``, ``traffic_file_unusable``, or of the tokenizer.
    """
    tokens = tokens_by(traffic.tokenizer)
    rows = _rows(traffic, version_of(traffic.path))
    thinks = iter(think_ns(traffic, asked.work("think"), asked.count))
    planned: list[PlannedRequest] = []
    for lap in counting():
        for exchanges in _conversations(rows, asked, lap):
            turns = exchanges[: asked.count - len(planned)] if traffic.turns == "all" else exchanges[:1]
            session = _session(len(planned), turns, salt(asked, lap), tokens, thinks)
            planned += takewhile(lambda turn: turn.follows is None or _short_enough(traffic, turn), session)
            if len(planned) == asked.count:
                return planned
    raise AssertionError  # counting() has no end


def sharegpt_facts(traffic: ShareGptTraffic) -> dict[str, Any]:
    """Return what a run records of the file."""
    version = version_of(traffic.path)
    return file_facts(
        version, _rows(traffic, version).counts, format="sharegpt", tokens=tokens_by(traffic.tokenizer).told
    )


def lap_order(asked: Asked, rows: int, lap: int) -> list[int]:
    """Return the rows of one lap in the order in which they are sent: the same in every repeat."""
    order: list[int] = asked.work(f"rows/{lap}").order(rows).tolist()
    return order


def _conversations(rows: Rows, asked: Asked, lap: int) -> Iterator[list[Exchanged]]:
    order = lap_order(asked, len(rows), lap)
    for record in rows.read(order[: asked.count]):
        exchanges = all_exchanges(record)
        assert isinstance(exchanges, list)  # noqa: S101 - only usable rows are kept
        yield exchanges


def _short_enough(traffic: ShareGptTraffic, turn: PlannedRequest) -> bool:
    """Return whether a later turn is within the study's limits; a session ends before the first that is not."""
    within_input = traffic.longest_input is None or turn.message_tokens <= traffic.longest_input
    return within_input and (traffic.longest_output is None or turn.output_tokens <= traffic.longest_output)


def _session(
    first: int, turns: list[Exchanged], salted: str, tokens: Tokens, thinks: Iterator[int]
) -> Iterator[PlannedRequest]:
    messages: tuple[Message, ...] = ()
    for turn, exchange in enumerate(turns):
        asked = exchange.prompt if turn else salted + exchange.prompt
        messages = (*messages, Message("user", asked))
        follows, think = (first + turn - 1, next(thinks)) if turn else (None, 0)
        yield PlannedRequest(
            index=first + turn,
            prompt=(),
            output_tokens=tokens(exchange.answer),
            offset_ns=None,
            messages=messages,
            follows=follows,
            think_ns=think,
            message_tokens=message_tokens(tokens, messages),
        )
        messages = (*messages, Message("assistant", exchange.answer))


@lru_cache(maxsize=4)
def _rows(traffic: ShareGptTraffic, version: FileVersion) -> Rows:
    """Return the file's usable rows; a file that changes is read anew."""
    rows = find_rows(version.path, _reason(traffic, tokens_by(traffic.tokenizer)))
    if not len(rows):
        raise without_usable_row(version.path, rows.counts, "conversations")
    return rows


def _reason(traffic: ShareGptTraffic, tokens: Tokens) -> Callable[[Any], str | None]:
    def reason(record: Any) -> str | None:
        exchange = first_exchange(record)
        if not isinstance(exchange, Exchanged):
            return exchange
        if traffic.longest_input is not None and tokens(exchange.prompt) > traffic.longest_input:
            return "prompt_too_long"
        if traffic.longest_output is not None and tokens(exchange.answer) > traffic.longest_output:
            return "answer_too_long"
        return None

    return reason
