"""Which engine wrote a log, told by what it says; then that engine's reader."""

import itertools
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from whichbits.record.inspection import Inspection, Problem
from whichbits.serve.logs import embedded, llamacpp, lmdeploy, sglang, tensorrt_llm, tgi
from whichbits.serve.logs.lines import LogLine, read_lines
from whichbits.serve.logs.vllm import read as vllm


class Family(NamedTuple):
    """One engine: which lines only it prints, and its reader."""

    claims: Callable[[LogLine], bool]
    inspect: Callable[[Sequence[LogLine]], Inspection]


_FAMILIES = {
    "embedded": Family(embedded.claims, embedded.inspect),
    "vllm": Family(vllm.claims, vllm.inspect),
    "sglang": Family(sglang.claims, sglang.inspect),
    "tgi": Family(tgi.claims, tgi.inspect),
    "tensorrt-llm": Family(tensorrt_llm.claims, tensorrt_llm.inspect),
    "lmdeploy": Family(lmdeploy.claims, lmdeploy.inspect),
    "llama.cpp": Family(llamacpp.claims, llamacpp.inspect),
}
_ROUTINE = re.compile(r"Avg (?:prompt|generation) throughput|(?:Decode|Prefill) batch[.,]|(?:Received|Added) request ")
_ENOUGH = 100
_CAN_SHARE = ("vllm", "sglang")
"""Both are run side by side from one script; the others' words occur in each other's logs."""


def recognise(name: str, text: str) -> Inspection | None:
    """Read a log of any known engine; None if it is none. The name of the file decides nothing."""
    del name
    lines = read_lines(text)
    sample = _sample(lines)
    claimed = [engine for engine, family in _FAMILIES.items() if any(map(family.claims, sample))]
    if all(engine in claimed for engine in _CAN_SHARE):
        return _two_engines(lines)
    if claimed:
        return _FAMILIES[claimed[0]].inspect(lines)
    return vllm.inspect(lines) if any(map(vllm.may_have_written, sample)) else None


def _sample(lines: Sequence[LogLine]) -> Sequence[LogLine]:
    """Return the lines that tell an engine: of what a busy server repeats for hours a few are enough."""
    routine = [bool(_ROUTINE.search(line.text)) for line in lines]
    few = itertools.islice(itertools.compress(lines, routine), _ENOUGH)
    return [*(line for line, repeated in zip(lines, routine, strict=True) if not repeated), *few]


def _two_engines(lines: Sequence[LogLine]) -> Inspection:
    """Read a log into which two engines wrote: each one's facts under its name, none as the facts of both."""
    facts = {engine: _FAMILIES[engine].inspect(lines).facts for engine in _CAN_SHARE}
    return Inspection("startup_log", None, None, facts, (Problem("two_engines_in_one_log"),))
