"""One is said as one, in every text that counts; Korean counts the same in both."""

import ast
import re
from typing import get_args

import pytest

from tests.language.phrases_in_source import SOURCE, templates
from whichbits.language.amounts import Noun, amount, amount_said
from whichbits.language.language import language
from whichbits.language.recognition import recognise

NOUNS: tuple[Noun, ...] = get_args(Noun)
PLURALS = sorted({amount(2, noun).rsplit(" ", 1)[1] for noun in NOUNS} | {"pairs"})
KINDS = " more| other| content| concurrent| prompt| output| open"
COUNTED = re.compile(rf"\{{(?!\w*share)[^{{}}]*\}}(?:{KINDS})? (?:{'|'.join(PLURALS)})\b(?!/)")
NEVER_ONE = (
    # Said only where there are two or more.
    " ({more} more repeats)",
    " ({repeats} repeats)",
    "{most} more repeats of the study",
    ", as wide as those of all repeats together; points are medians of {repeats} repeats",
    "{part} of {of} repeats of {loads} left out: {why}",
    "{unused} of {count} repeats not used ({why})",
    "± half the range of the {repeats} repeats; the number is their median",
    "medians of {repeats} repeats, ± half their range from half a percent on",
    "{noisy} of {count} pairs too noisy",
    "{count} loads from {first} to {last}",
    "none of {sent:,} requests failed",
    "{finished}/{requests} requests",
    "all {total:,} requests, in the order of their sends.",
    "{shown} of {total:,} requests shown, in the order of their sends: ",
    "1 of {total} pairs of arms trades places",
    "{count} of {total} pairs of arms trade places",
    "1 of {total} pairs of arms is too noisy",
    "{count} of {total} pairs of arms are too noisy",
    "all {total} cells",
    "the cap of {load.concurrency} is split over {workers} workers: {parts}",
    "each of {workers} workers balances by its own requests in flight",
    "{together} replicas share a {deployment.device.name} and each takes {share} of its memory",
    "{name}: {deployment.replicas_on_a_gpu} replicas share a GPU; ",
    "replica {index} needs {per_replica} GPUs (tensor_parallel_size) and would have GPU {twice[0]} twice; ",
    "{control.url} serves {len(names)} models: {', '.join(names) or 'none'}",
    "{url} serves {len(names)} models: {', '.join(names) or 'none'}",
    # As many as a size or a proof has: dozens at least.
    "{good} at {place}, {after}; {share:.0%} takes {enough} requests a load at least",
    "requests that hold the SLO at {place}{beyond}: {counts}; {share:.0%} takes {enough} requests a load at least",
    " (for batches of {batch:,} tokens)",
    "Maximum concurrency {times:g}x{each} is for requests of {length:,} tokens; shorter ones fit more often.{more}",
    "requests of more than {length:,.0f} tokens on average: then the smallest KV cache is full at the top load",
    "on {gpu}, runs up to {at_most} concurrent requests came out ",
    "give --calibration FILE with up to {SAMPLES} texts of your traffic, one a line",
    # More than a chart or a reader takes.
    "{all} arms are too many to draw. ",
    "{all} loads are too many to draw. ",
    "{arms} arms make {pairs} pairs, more than anyone reads. ",
    # The page's script puts the number in, and has a text of its own for one.
    "{count} requests",
    # Of how many nobody knows.
    "{missing} requests",
)
"""How such texts begin."""
NOT_COUNTED = re.compile(
    r"\.1f\}|kv_cache_tokens|KV cache \{tokens|tokens_per_request|held\} requests of this|\{output_tokens\} output"
    r"|\{longest\}|ratio:\.0f|\{tokens\} tokens each|\{(?:has|name)\} runs|\{(?:url|arm)\} answers|\{path\} starts"
    r"|those are \{tokens:,\}"
)
"""Fractions, sizes of a KV cache or of the longest request, and words that are verbs here."""


def written() -> dict[str, str]:
    """Return every text with fields in the source, with its place."""
    found = templates() | {}
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                found[_written(node)] = f"{path}:{node.lineno}"
    return {text: place for text, place in found.items() if not place.endswith("language/amounts.py")}


def _written(node: ast.JoinedStr) -> str:
    parts = (f"{{{ast.unparse(part.value)}}}" if isinstance(part, ast.FormattedValue) else part for part in node.values)
    return "".join(str(part.value) if isinstance(part, ast.Constant) else str(part) for part in parts)


def test_no_text_counts_by_itself_what_may_be_one() -> None:
    counting = {text: place for text, place in written().items() if COUNTED.search(text)}

    assert not {
        text: place for text, place in counting.items() if not (text.startswith(NEVER_ONE) or NOT_COUNTED.search(text))
    }


@pytest.mark.parametrize("noun", NOUNS)
def test_one_several_and_none_of_each(noun: Noun) -> None:
    assert amount(1, noun) == f"1 {noun}"
    assert amount(0, noun).startswith("0 ")
    assert amount(0, noun) == amount(2, noun).replace("2", "0")
    assert amount(2, noun) != f"2 {noun}"
    assert amount(12_000, noun).startswith("12,000 ")


@pytest.mark.parametrize("noun", NOUNS)
@pytest.mark.parametrize("count", [0, 1, 2, 12_000])
def test_korean_counts_one_as_it_counts_several(noun: Noun, count: int) -> None:
    korean = language("ko").say

    assert korean(amount(count, noun)) == korean(amount(2, noun)).replace("2", f"{count:,}")
    assert "[en]" not in korean(amount(count, noun))


@pytest.mark.parametrize("text", ["1 request", "12,000 requests", "0 matrices", "3 server starts"])
def test_an_amount_that_was_told_as_text_is_known_again(text: str) -> None:
    assert amount_said(text) == text
    assert isinstance(amount_said(text), type(amount(1, "request")))


@pytest.mark.parametrize(
    "text", ["1 requests", "2 request", "many requests", "3 wishes", ", requests", "1 request more"]
)
def test_other_texts_are_no_amounts(text: str) -> None:
    assert amount_said(text) is None


def test_an_amount_within_a_told_text_is_said_in_the_language() -> None:
    told = recognise("2 mocks cannot listen from port 9 on")

    assert language("ko").say(told) == "포트 9부터 mock 2개가 수신할 수 없습니다"
