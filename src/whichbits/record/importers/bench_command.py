"""Settings of a benchmark that its table leaves out, from the command, the echo of its arguments, or its progress."""

import math
import re
from collections import defaultdict
from typing import Any

Facts = dict[str, Any]

_FACTS = {
    "num_prompt": "prompts_sent",
    "num_prompts": "prompts_sent",
    "max_concurrency": "max_concurrency",
    "request_rate": "request_rate",
    "burstiness": "burstiness",
    "backend": "backend",
}
_WHOLE = frozenset({"prompts_sent", "max_concurrency"})

_NAME = r"(num[-_]prompts?|max[-_]concurrency|request[-_]rate|burstiness|backend)"
_OPTION = re.compile(rf"(?<![\w-])--{_NAME}(?:=|[\s\\]+)['\"]?([\w.-]+)")
_ECHO_LINE = re.compile(r"^.*\bNamespace\(.*$", re.MULTILINE)
_ECHOED = re.compile(rf"\b{_NAME}='?([\w.-]+)")
_PROGRESS_TOTAL = re.compile(r"\|\s*\d+/(\d{1,12}) \[")


def read_bench_settings(text: str) -> Facts:
    """Return the settings that ``text`` holds; one that it gives two values is unknown.

    The progress bar counts what was sent; a command beside it may be another run's, or hold a shell's variables.
    """
    found: defaultdict[str, set[Any]] = defaultdict(set)
    echo = "\n".join(_ECHO_LINE.findall(text))
    for name, printed in [*_OPTION.findall(text), *_ECHOED.findall(echo)]:
        fact = _FACTS[name.replace("-", "_")]
        found[fact].add(_setting(fact, printed))
    settings = {fact: values.pop() for fact, values in found.items() if len(values) == 1}
    progress = _PROGRESS_TOTAL.findall(text)
    if progress:
        settings["prompts_sent"] = int(progress[-1])
    return settings


def _setting(fact: str, printed: str) -> float | int | str | None:
    if fact == "backend":
        return printed
    try:
        number = float(printed)
    except ValueError:
        return None
    if not math.isfinite(number):
        return "inf" if fact == "request_rate" and number > 0 else None
    return int(number) if fact in _WHOLE else number
