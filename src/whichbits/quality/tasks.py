"""Tasks with right answers: lm-eval run as a program against a served arm, its files kept in the run folder."""

import asyncio
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from whichbits.errors import BadInput
from whichbits.quality.task_results import task_folder
from whichbits.serve.endpoint.replica import Endpoint


@dataclass(frozen=True)
class TaskRun:
    """What lm-eval is asked to do; ``tokenizer`` is a folder or a name that it finds the model's tokenizer under."""

    arm: str
    endpoint: Endpoint
    tasks: Sequence[str]
    questions: int | None
    at_once: int
    tokenizer: str


def insist_on_lm_eval() -> None:
    """Raise BadInput where lm-eval cannot be run, before anything is served."""
    if find_spec("lm_eval") is None:
        raise BadInput(
            "lm_eval_missing",
            "the study asks for tasks, and lm-eval is not installed",
            why="it comes with the extra lm-eval, since it is large",
            fix="pip install 'whichbits[lm-eval]', or leave quality.tasks out",
        )


def task_command(wanted: TaskRun, output: Path) -> tuple[str, ...]:
    """Return lm-eval's command line; it asks the completions API, by token ids of the model's own tokenizer."""
    endpoint = wanted.endpoint
    url = f"{'https' if endpoint.tls else 'http'}://{endpoint.host}:{endpoint.port}{endpoint.path}"
    model = {
        "model": endpoint.model,
        "base_url": url,
        "num_concurrent": wanted.at_once,
        "max_retries": 1,
        "tokenizer": wanted.tokenizer,
    }
    limit = () if wanted.questions is None else ("--limit", str(wanted.questions))
    return (
        *(sys.executable, "-m", "lm_eval", "--model", "local-completions"),
        *("--model_args", ",".join(f"{name}={value}" for name, value in model.items())),
        *("--tasks", ",".join(wanted.tasks), "--log_samples", "--output_path", str(output), *limit),
    )


async def run_tasks(wanted: TaskRun, folder: Path, environment: Mapping[str, str]) -> str | None:
    """Run lm-eval to its end; return the last line that it wrote if it failed. Its log lies beside its files."""
    output = task_folder(folder, wanted.arm)
    output.mkdir(parents=True, exist_ok=True)
    log = output / "lm_eval.log"
    with log.open("wb") as written:
        process = await asyncio.create_subprocess_exec(
            *task_command(wanted, output),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=written,
            stderr=written,
            env={**os.environ, **environment},
            start_new_session=True,
        )
        try:
            code = await process.wait()
        finally:
            # Also when the study is stopped: lm-eval's own workers are of its session.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    if code == 0:
        return None
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines() or ["it said nothing"]
    return f"lm-eval ended with {code}: {lines[-1]} (see {log.relative_to(folder)})"
