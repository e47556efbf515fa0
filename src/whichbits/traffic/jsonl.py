"""Requests of your own, an object a line: a prompt, messages or token ids, and how long the answer is to be."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import count as counting
from typing import Any, NamedTuple

from whichbits.errors import BadInput
from whichbits.study.recorded_traffic import JsonlTraffic
from whichbits.traffic.asked import Asked
from whichbits.traffic.conversations import ANSWERING, ASKING, role_of, text_of
from whichbits.traffic.facts import Counts, file_facts, needs_text, without_usable_row
from whichbits.traffic.request import Message, PlannedRequest
from whichbits.traffic.rows import Rows, find_rows
from whichbits.traffic.salt import salt
from whichbits.traffic.tokens import Tokens, message_tokens, tokens_by
from whichbits.traffic.version import FileVersion, version_of

IDS = ("token_ids", "prompt_token_ids", "input_ids")
MESSAGES = ("messages",)
PROMPTS = ("prompt", "question", "instruction", "text_input", "text")
OUTPUTS = ("output_tokens", "max_tokens", "max_completion_tokens", "output_len", "output_length", "max_new_tokens")
ANSWERS = ("completion", "answer", "response", "output")
WRAPPED = ("body", "row")
"""What stands around a request in OpenAI's batch files, and around a record in dumps of Hugging Face's viewer."""

_MOST_ID = 2**24
"""No vocabulary is near it."""

_WORDS = "words_where_ids_are_sent"


class Line(NamedTuple):
    """What a line asks: ids or messages, and the answer's tokens."""

    ids: tuple[int, ...]
    messages: tuple[Message, ...]
    output_tokens: int


def jsonl(traffic: JsonlTraffic, asked: Asked) -> list[PlannedRequest]:
    """Return ``asked.count`` requests of the file's lines without replacement, lap by lap.

    Raises:
        BadInput: ``traffic_file_unreadable``, ``traffic_file_unusable``, ``traffic_needs_text``, or of the tokenizer.
    """
    with_words = asked.study.request.prompt == "text"
    rows = _rows(traffic, version_of(traffic.path), with_words)
    tokens = tokens_by(traffic.tokenizer)
    planned: list[PlannedRequest] = []
    for lap in counting():
        left = asked.count - len(planned)
        for record in rows.read(_order(traffic, asked, len(rows), lap)[:left]):
            line = line_of(record, traffic, tokens)
            assert isinstance(line, Line)  # noqa: S101 - only usable rows are kept
            planned.append(_request(len(planned), line, salt(asked, lap), tokens))
        if len(planned) == asked.count:
            return planned
    raise AssertionError  # counting() has no end


def jsonl_facts(traffic: JsonlTraffic, with_words: bool) -> dict[str, Any]:
    """Return what a run records of the file."""
    version = version_of(traffic.path)
    return file_facts(
        version, _rows(traffic, version, with_words).counts, format="jsonl", tokens=tokens_by(traffic.tokenizer).told
    )


def line_of(record: Any, traffic: JsonlTraffic, tokens: Tokens) -> Line | str:
    """Return what a line asks, or why it cannot be sent."""
    if not isinstance(record, Mapping):
        return "not_an_object"
    record = next((inner for key in WRAPPED if isinstance(inner := record.get(key), Mapping)), record)
    ids, messages, answer = _prompt(record)
    if not ids and not messages:
        return "no_prompt"
    wanted = _output_tokens(record, answer, traffic, tokens)
    if wanted is None:
        return "no_output_tokens"
    return _too_long(Line(ids, messages, wanted), traffic, tokens)


def _prompt(record: Mapping[str, Any]) -> tuple[tuple[int, ...], tuple[Message, ...], str]:
    """Return token ids or messages, and the answer that messages end with, if they do."""
    ids = next((found for key in (*IDS, "prompt") if (found := _ids(record.get(key)))), ())
    if ids:
        return ids, (), ""
    listed = next((record[key] for key in (*MESSAGES, "prompt") if isinstance(record.get(key), list)), None)
    if listed is not None:
        return ((), *_messages(listed))
    text = next((value for key in PROMPTS if isinstance(value := record.get(key), str) and value.strip()), "")
    return (), (Message("user", text),) if text else (), ""


def _ids(value: Any) -> tuple[int, ...]:
    whole = isinstance(value, list) and all(type(each) is int and 0 <= each < _MOST_ID for each in value)
    return tuple(value) if whole else ()


def _messages(turns: Sequence[Any]) -> tuple[tuple[Message, ...], str]:
    """Return messages up to the last question; one with an unknown role or no text makes the whole line unusable."""
    read = [(role_of(turn), text_of(turn)) for turn in turns]
    if not all(role and text for role, text in read):
        return (), ""
    messages = tuple(Message(_served_role(role or ""), text) for role, text in read)
    if messages and messages[-1].role == "assistant":
        return messages[:-1], messages[-1].content
    return messages, ""


def _served_role(role: str) -> str:
    """Return a data set's name of a role as servers know it."""
    return "user" if role in ASKING else "assistant" if role in ANSWERING else role


def _output_tokens(record: Mapping[str, Any], answer: str, traffic: JsonlTraffic, tokens: Tokens) -> int | None:
    said = next((value for key in OUTPUTS if type(value := record.get(key)) is int and value > 0), None)
    if said is not None:
        return said
    texts = (value for key in ANSWERS if isinstance(value := record.get(key), str) and value.strip())
    text = answer or next(texts, "")
    return tokens(text) if text else traffic.output_tokens


def _too_long(line: Line, traffic: JsonlTraffic, tokens: Tokens) -> Line | str:
    if traffic.longest_output is not None and line.output_tokens > traffic.longest_output:
        return "answer_too_long"
    if traffic.longest_input is None:
        return line
    prompt = len(line.ids) or message_tokens(tokens, line.messages)
    return line if prompt <= traffic.longest_input else "prompt_too_long"


def _order(traffic: JsonlTraffic, asked: Asked, rows: int, lap: int) -> list[int]:
    if traffic.order == "file":
        return list(range(rows))
    order: list[int] = asked.work(f"rows/{lap}").order(rows).tolist()
    return order


def _request(index: int, line: Line, salted: str, tokens: Tokens) -> PlannedRequest:
    """Return the line as a request. Ids are sent as they are: a salt would not be theirs."""
    if line.ids:
        return PlannedRequest(index, line.ids, line.output_tokens, None)
    first, *others = line.messages
    messages = (Message(first.role, salted + first.content), *others)
    length = message_tokens(tokens, messages)
    return PlannedRequest(index, (), line.output_tokens, None, messages=messages, message_tokens=length)


@lru_cache(maxsize=4)
def _rows(traffic: JsonlTraffic, version: FileVersion, with_words: bool) -> Rows:
    """Return the file's usable lines; a file that changes is read anew."""
    rows = find_rows(version.path, _reason(traffic, tokens_by(traffic.tokenizer), with_words))
    if not len(rows):
        raise _nothing(version, rows.counts)
    return rows


def _reason(traffic: JsonlTraffic, tokens: Tokens, with_words: bool) -> Callable[[Any], str | None]:
    def reason(record: Any) -> str | None:
        line = line_of(record, traffic, tokens)
        if not isinstance(line, Line):
            return line
        return None if with_words or line.ids else _WORDS

    return reason


def _nothing(version: FileVersion, counts: Counts) -> BadInput:
    if _WORDS in counts.unusable:
        return needs_text(version.path)
    return without_usable_row(version.path, counts, "requests")
