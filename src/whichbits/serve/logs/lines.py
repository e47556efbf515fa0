"""The shape of a log line: colour, process names, time and file are taken off, so that what is said is left."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

_COLOUR = re.compile(
    r"""(?:\x1b|\^\[|\\x1b|\\033|\\u001b|\#033)?+ \[ \d{1,3}+ (?:;\d{1,3}+)*+ m   # also where a paste lost the escape
    |   \x1b (?: \[ [0-?]*+ [ -/]*+ [@-~] | \] [^\x07\x1b]*+ (?:\x07|\x1b\\)?+ | [@-Z\\-_] )""",
    re.VERBOSE,
)
_COLOUR_TELLS = re.compile(r"\[\d{1,3}(?:;\d{1,3})*m")
"""What every colour has that has lost its escape: quick to look for, and absent from most logs."""

_PREFIX = re.compile(
    r"""\s*+ (?:
      \( (?P<name>[A-Za-z][^()]*?) \s pid=(?P<pid>\d{1,10}) (?:,\s*ip=[^()]*)?+ \)              # vLLM, Ray
    | [\w.-]{1,80}+ \s*+ \| (?=\s)                                                          # docker compose
    | \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d (?:[.,]\d+)?+ (?:Z|[+-]\d\d:?\d\d)
      (?:\s(?:stdout|stderr)\s[FP] | \s[\w.-]++\s[\w./@-]++\[\d+\]:)?+ (?=\s)  # kubectl, journald
    | [A-Z][a-z]{2} \s[\s\d]\d \s \d\d:\d\d:\d\d \s [\w.-]++ \s [\w./@-]++ \[\d+\]:          # syslog
    | \[rank\d+\]: | \[gpu(?:_id)?=\d+\](?=\s) | \[\d+,\d+\]<std(?:out|err)>: | \[\d+\](?=\s) | >(?=\s)
    | \[Stage-(?P<stage>\d{1,4})\](?=\s)                                                     # vLLM-Omni
    | \[(?:pod|container)/[^\]]{1,200}\](?=\s) | \d{1,4}:(?=\s) | [│┃](?=\s)                # kubectl, srun -l, a frame
    )""",
    re.VERBOSE,
)
_BAR = re.compile(r"[^|%]{0,200}?\b\d{1,3}%(?: Completed)?+ ?\|(?:[^|]*\|)?+\s*\d+/\d+\s\[[^\]]*\]")
_TIME = r"\d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d+)?"
_DATED = rf" (?:\d{{4}}-)?{_TIME}"
_VLLM = r"(?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL){} \[?[\w./-]+\.py:\d+\] ?"
_SGLANG = rf"\[(?:(?:\d{{4}}-)?{_TIME}|\d\d:\d\d:\d\d)(?P<rank>(?: [A-Z][\w.]*)*)\] ?"
_HEADS = (
    # vLLM: a bracket around the file came with 0.8; who pastes a log may have cut the time off
    re.compile(_VLLM.format(f"(?:{_DATED})?")),
    # SGLang: the rank stands behind the time, which had no date in its first versions
    re.compile(_SGLANG),
    # TGI, whose launcher and router name themselves
    re.compile(r"(?P<level>DEBUG|INFO|WARN|ERROR) (?:[\w-]+(?:\{[^{}]*\})?: ){0,3}?text_generation_\w+(?:::\w+)*: "),
)
_HEADS_ANYWHERE = (re.compile(rf"(?<!\w){_VLLM.format(_DATED)}"), re.compile(_SGLANG))
"""Shapes that nothing else has, so that whatever a collector of logs put in front of them is a prefix."""

_GLUED = re.compile(rf"(?<=[^\s(\[])(?:\([A-Z]\w+[^()\n]{{0,40}} pid=\d{{1,10}}\) )*+{_VLLM.format(_DATED)}")
"""Where two processes wrote at once, one line begins in the middle of another."""

_WRITER = re.compile(r"\((?P<name>[A-Za-z][^()]*?) pid=(?P<pid>\d{1,10})(?:, ?ip=[^()]*)?\)")
_STAGE_PROCESS = re.compile(r"StageEngineCoreProc_stage(\d{1,4})\b")
_LONGEST_PREFIX = 300
_REPEATED = re.compile(r"(?<!\s)\s*\[repeated \d+x across cluster\].*$")
_ACCESS = re.compile(r'INFO:\s+[\w.:\[\]-]+ - "(?:GET|POST|HEAD|OPTIONS|DELETE|PUT) [^"]*" \d')
"""Uvicorn's line for each request: most of an old log, and no word of the engine's."""

_SECRET_NAMES = ("api_key", "api-key", "hf_token", "hf-token", "auth_token", "access_token", "password", "secret")
_ANY_SECRET = "|".join(_SECRET_NAMES)
_SECRET = re.compile(
    rf"""(?P<name>(?:{_ANY_SECRET})['"]?+\ ?+[=:]\ ?+ | --(?:[\w-]*-)?(?:{_ANY_SECRET})['"]?+,?+\ ++)
    (?!None\b|null\b|False\b|\[\]|\*)(?:\[[^\]]*+\]?+|'[^']*+'?+|"[^"]*+"?+|[^\s,)}}]++)""",
    re.VERBOSE,
)
"""A setting in an engine's own printing of its arguments: the line may end in a report, the value must not."""

_MOST_CONTINUATIONS = 120
_MOST_WRAPPED = 3


class Writer(NamedTuple):
    """One process name in front of a line, e.g. ``Worker_TP0``; the process id where it stands there."""

    name: str
    pid: int | None


@dataclass(frozen=True)
class LogLine:
    """One line: what is said, who said it (outermost process first) and the line as a person reads it.

    ``continuation`` holds the bare lines that follow: a terminal or an editor may have wrapped this one.
    ``cut`` says that the text ended here without a line break, so that the last word may be a part of one.
    ``headed`` says that the line has a logger's head. ``stage`` is the number of the model that wrote it, where
    vLLM-Omni serves a chain of models.
    """

    text: str
    shown: str
    level: str | None = None
    writers: tuple[Writer, ...] = ()
    headed: bool = False
    cut: bool = False
    stage: str | None = None
    continuation: tuple[str, ...] = ()

    @property
    def innermost(self) -> Writer | None:
        """The process that wrote the line; the others passed it on."""
        return self.writers[-1] if self.writers else None

    @cached_property
    def readings(self) -> tuple[str, ...]:
        """The line as it stands, then as it reads if the next lines belong to it."""
        if not self.continuation:
            return (self.text,)
        parts = (self.text, *self.continuation[:_MOST_WRAPPED])
        return (self.text, " ".join(parts), "".join(parts))

    @property
    def whole(self) -> str:
        """All readings, to look for a piece of one of them."""
        return "\n".join(self.readings) if self.continuation else self.text

    def unwrapped(self) -> str:
        """Return the line with all that may belong to it, joined as a terminal breaks lines."""
        return "".join((self.text, *self.continuation))


def read_lines(text: str) -> tuple[LogLine, ...]:
    """Return the lines that say something, in order."""
    raw = [part for line in _broken(_without_colour(text)) for part in _unglued(line)]
    lines = [line for part in raw[:-1] if not _is_access(part) and (line := _line(part))]
    if last := _line(raw[-1]):
        lines.append(replace(last, cut=True))
    return tuple(_with_continuations(lines))


def _without_colour(text: str) -> str:
    coloured = "\x1b" in text or _COLOUR_TELLS.search(text) is not None
    return _COLOUR.sub("", text) if coloured else text


def _broken(text: str) -> list[str]:
    """Break at every line end of any system, also where an editor spelled the CR out as ^M."""
    if "\r" in text or "^M" in text:
        text = text.replace("\r\n", "\n").replace("^M\n", "\n").replace("\r", "\n")
    return text.split("\n")


def _is_access(line: str) -> bool:
    return "INFO:" in line and _ACCESS.search(line) is not None


def _unglued(line: str) -> Iterable[str]:
    if line.count(".py:") < 2:
        return (line,)
    cuts = [found.start() for found in _GLUED.finditer(line)]
    return [line[start:end] for start, end in pairwise([0, *cuts, len(line)])]


def _line(raw: str) -> LogLine | None:
    text, writers, stage = _peeled(_REPEATED.sub("", raw) if "across cluster]" in raw else raw)
    if text.startswith("{") and (record := _json_record(text)):
        return replace(record, writers=(*writers, *record.writers))
    head = _head(text)
    if head is None:
        return LogLine(text, _shown(raw), writers=writers, stage=stage) if text else None
    writers += tuple(Writer(found["name"], int(found["pid"])) for found in _WRITER.finditer(text, 0, head.start()))
    parts = head.groupdict()
    if parts.get("rank"):
        writers = (*writers, Writer(parts["rank"].strip(), None))
    return LogLine(text[head.end() :].strip(), _shown(raw), parts.get("level"), writers, headed=True, stage=stage)


def _shown(raw: str) -> str:
    secret = any(name in raw for name in _SECRET_NAMES)
    return _SECRET.sub(r"\g<name>***", raw.strip()) if secret else raw.strip()


def _head(text: str) -> re.Match[str] | None:
    at_start = next((found for shape in _HEADS if (found := shape.match(text))), None)
    if at_start or (".py:" not in text[:_LONGEST_PREFIX] and "[" not in text[:_LONGEST_PREFIX]):
        return at_start
    return next((found for shape in _HEADS_ANYWHERE if (found := shape.search(text, 0, _LONGEST_PREFIX))), None)


def _peeled(text: str) -> tuple[str, tuple[Writer, ...], str | None]:
    """Return what stands behind the prefixes, the processes that they name, and the stage."""
    writers, stage = [], None
    while found := _PREFIX.match(text) or (_BAR.match(text) if "%" in text and "|" in text else None):
        if found.re is _BAR:
            text = text[found.end() :]
            continue
        if found["name"]:
            writers.append(Writer(found["name"], int(found["pid"])))
            process = _STAGE_PROCESS.match(found["name"])
            stage = process[1] if process else stage
        stage = found["stage"] or stage
        text = text[found.end() :]
    return text.strip(), tuple(writers), stage


def _json_record(text: str) -> LogLine | None:
    """Read a line of a JSON logger (vLLM, TGI, docker), whose message may have prefixes of its own.

    Other JSON objects with a message (an error answer, say) have no level and are no log lines.
    """
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict):
        return None
    level = record.get("levelname") or record.get("level")
    message = _message(record) if isinstance(level, str) or "stream" in record else None
    inner = _line(message.strip().replace("\r", " ").replace("\n", " ")) if message else None
    if inner is None:
        return None
    name, pid = record.get("processName"), record.get("process")
    outer = (Writer(name, pid),) if isinstance(name, str) and isinstance(pid, int) else ()
    return replace(
        inner,
        shown=_shown(text),
        level=inner.level or (level if isinstance(level, str) else None),
        writers=(*outer, *inner.writers),
        headed=True,
    )


def _message(record: dict[str, Any]) -> str | None:
    inner = record.get("fields")
    places = (record, inner) if isinstance(inner, dict) else (record,)
    found = (place.get(key) for place in places for key in ("message", "msg", "log"))
    return next((message for message in found if isinstance(message, str)), None)


def _with_continuations(lines: list[LogLine]) -> Iterator[LogLine]:
    starts = [place for place, line in enumerate(lines) if line.headed or place == 0]
    for start, end in pairwise([*starts, len(lines)]):
        head, rest = lines[start], lines[start + 1 : end]
        own = [line.text for line in rest[:_MOST_CONTINUATIONS] if line.writers in ((), head.writers)]
        yield replace(head, continuation=tuple(own), cut=head.cut and not rest) if own else head
        yield from rest
