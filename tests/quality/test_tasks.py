"""lm-eval's command line, and its files."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from whichbits.errors import BadInput
from whichbits.quality import tasks
from whichbits.quality.task_results import Scores, read_scores, task_folder
from whichbits.quality.tasks import TaskRun, insist_on_lm_eval, run_tasks, task_command
from whichbits.serve.endpoint.replica import Endpoint

RUN = TaskRun("w4a16", Endpoint("127.0.0.1", 8000, "m", None), ("arc_easy", "piqa"), 50, 4, "/models/m")


def write_samples(folder: Path, task: str, date: str, *samples: dict[str, Any]) -> None:
    """Write samples as lm-eval 0.4.13 does: below a folder named after the model."""
    place = task_folder(folder, "w4a16") / "m"
    place.mkdir(parents=True, exist_ok=True)
    path = place / f"samples_{task}_{date}.jsonl"
    path.write_text("".join(json.dumps(sample) + "\n" for sample in samples), encoding="utf-8")


def sample(question: int, metrics: dict[str, float], filter_: str = "none") -> dict[str, Any]:
    return {
        "doc_id": question,
        "doc": {"query": "?"},
        "target": "1",
        "arguments": {},
        "resps": [],
        "filtered_resps": [],
        "filter": filter_,
        "metrics": list(metrics),
        "doc_hash": f"h{question}",
        "prompt_hash": "p",
        "target_hash": "t",
        **metrics,
    }


def test_scores_are_read_by_question_and_metric(tmp_path: Path) -> None:
    both = {"acc": 1.0, "acc_norm": 0.0}
    write_samples(
        tmp_path, "arc_easy", "2026-11-29T10-00-00.000000", sample(0, both), sample(1, {"acc": 0.0, "acc_norm": 0.0})
    )

    assert read_scores(tmp_path, "w4a16") == (
        Scores("arc_easy", "acc", {"0 h0": True, "1 h1": False}),
        Scores("arc_easy", "acc_norm", {"0 h0": False, "1 h1": False}),
    )


def test_the_newest_file_of_a_task_counts_and_filters_stand_apart(tmp_path: Path) -> None:
    write_samples(tmp_path, "gsm8k", "2026-11-29T10-00-00.000000", sample(0, {"exact_match": 0.0}))
    newer = [sample(0, {"exact_match": 1.0}, name) for name in ("strict-match", "flexible-extract")]
    write_samples(tmp_path, "gsm8k", "2026-11-30T10-00-00.000000", *newer)

    assert [(scores.metric, scores.right) for scores in read_scores(tmp_path, "w4a16")] == [
        ("exact_match (strict-match)", {"0 h0": True}),
        ("exact_match (flexible-extract)", {"0 h0": True}),
    ]


def test_a_metric_that_is_no_yes_or_no_is_left_out(tmp_path: Path) -> None:
    write_samples(tmp_path, "wikitext", "2026-11-29T10-00-00.000000", sample(0, {"word_perplexity": 12.5}))

    assert read_scores(tmp_path, "w4a16") == ()


def test_the_command_asks_the_served_arm() -> None:
    command = task_command(RUN, Path("/run/quality/tasks/w4a16"))

    assert command[1:5] == ("-m", "lm_eval", "--model", "local-completions")
    assert "base_url=http://127.0.0.1:8000/v1/completions" in command[6]
    assert command[command.index("--tasks") + 1] == "arc_easy,piqa"
    assert command[-2:] == ("--limit", "50")


async def test_the_last_line_of_a_failed_run_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failing = (sys.executable, "-c", "import sys; print('first'); sys.exit('no such task')")
    monkeypatch.setattr(tasks, "task_command", lambda *_: failing)

    assert await run_tasks(RUN, tmp_path, {}) == (
        "lm-eval ended with 1: no such task (see quality/tasks/w4a16/lm_eval.log)"
    )


def test_tasks_without_lm_eval_are_refused_before_anything_is_served(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "find_spec", lambda _: None)

    with pytest.raises(BadInput, match="lm-eval is not installed"):
        insist_on_lm_eval()
