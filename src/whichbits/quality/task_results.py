"""Reads what lm-eval wrote with ``--log_samples``: one score for each question, so that arms can be paired.

Format (lm-eval 0.4): ``samples_TASK_DATE.jsonl`` below ``--output_path``, a question a line, with ``doc_id``,
``doc_hash``, ``filter`` and ``metrics``, the names under which the line holds the question's scores.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from whichbits.quality.store import FOLDER

TASKS = "tasks"
_FILE = re.compile(r"samples_(?P<task>.+)_(?P<date>\d{4}-\d\d-\d\dT.+)\.jsonl")


@dataclass(frozen=True)
class Scores:
    """One metric of one task: by question, right or wrong."""

    task: str
    metric: str
    right: Mapping[str, bool]


def task_folder(folder: Path, arm: str) -> Path:
    """Return where lm-eval's files of an arm lie in a run folder."""
    return folder / FOLDER / TASKS / quote(arm, safe="")


def read_scores(folder: Path, arm: str) -> tuple[Scores, ...]:
    """Return the metrics that score each question 0 or 1, of the newest file of each task; none without files."""
    newest: dict[str, tuple[str, Path]] = {}
    for path in task_folder(folder, arm).rglob("samples_*.jsonl"):
        if found := _FILE.fullmatch(path.name):
            newest[found["task"]] = max(newest.get(found["task"], ("", path)), (found["date"], path))
    return tuple(scores for task, (_, path) in sorted(newest.items()) for scores in _scores(task, path))


def _scores(task: str, path: Path) -> Iterator[Scores]:
    found: dict[str, dict[str, bool | None]] = {}
    for line in path.read_bytes().splitlines():
        sample = _sample(line)
        question = f"{sample.get('doc_id')} {sample.get('doc_hash', '')}"
        for metric in sample.get("metrics", ()):
            name = metric if sample.get("filter") in (None, "none") else f"{metric} ({sample['filter']})"
            found.setdefault(name, {})[question] = _right(sample.get(metric))
    for metric, right in found.items():
        # A metric that is no yes or no, such as a perplexity, cannot be counted.
        known = {question: value for question, value in right.items() if value is not None}
        if known and len(known) == len(right):
            yield Scores(task, metric, known)


def _sample(line: bytes) -> dict[str, Any]:
    try:
        sample = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError):
        return {}
    return sample if isinstance(sample, dict) else {}


def _right(score: Any) -> bool | None:
    return bool(score) if isinstance(score, bool | int | float) and score in (0, 1) else None
