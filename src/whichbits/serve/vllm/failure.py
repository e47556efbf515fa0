"""What a dead vLLM died of, as far as its log tells."""

import re

from whichbits.serve.logs.lines import read_lines
from whichbits.serve.logs.vllm.failures import failure

_GONE = re.compile(
    r"(?:engine core|Engine core proc \S+|Engine process|Worker proc \S+) (?:exited|died)\b", re.IGNORECASE
)


def cause_of_death(log_text: str) -> str | None:
    """Return the first real cause, else that a process was gone without a word; None if the log tells neither."""
    return failure(log_text) or _gone(log_text)


def _gone(log_text: str) -> str | None:
    for line in read_lines(log_text):
        if _GONE.search(line.text):
            return f"{line.text}\n(it said nothing before: killed from outside, often by the kernel, out of memory)"
    return None
