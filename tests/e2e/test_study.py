"""The whole tool on the real engine: two formats of a tiny model, two loads, forwards and backwards."""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.analyze.recompute import check_summary
from tests.e2e.tool import AS_INSTALLED, good_exit, run_of, tool
from whichbits.record.run import Run
from whichbits.serve.metrics import difference, read_counters


@dataclass(frozen=True)
class Outcome:
    """What one run of the tool gave."""

    code: int
    stdout: str
    stderr: str
    run: Run


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory, tiny_model: Path) -> Outcome:
    folder = tmp_path_factory.mktemp("study")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WHICHBITS_CACHE", str(folder / "cache"))
        with tool(folder, "run", write_study(folder, tiny_model), "--json", program=AS_INSTALLED) as run:
            code = run.wait()
            assert run.leaves_nothing_behind()
            return Outcome(code, run.stdout, run.stderr, run_of(folder))


def write_study(folder: Path, model: Path) -> Path:
    study = {
        "name": "tiny",
        "every_arm": {"engine": "embedded", "model": str(model)},
        "arms": {"fp16": {"weight_format": "fp16"}, "w4a16": {"weight_format": "w4a16"}},
        "traffic": {"kind": "random", "input_tokens": 16, "output_tokens": 24, "range_ratio": 0.5},
        "token_ids": [2, 250],
        "loads": [1, 4],
        "repeats": 2,
        "cell": {"requests": 8},
        "slo": {"ttft_ms": 60000, "tpot_ms": 60000},
        "output": str(folder / "runs"),
    }
    path = folder / "study.yaml"
    path.write_text(json.dumps(study))
    return path


def test_every_cell_is_done_in_an_order_that_favours_no_arm(outcome: Outcome) -> None:
    assert outcome.code == good_exit(outcome.run), outcome.stderr
    assert [cell.state for cell in outcome.run.cells] == ["done"] * 8
    assert [cell.arm for cell in outcome.run.cells] == ["fp16"] * 2 + ["w4a16"] * 4 + ["fp16"] * 2
    assert [cell.repeat for cell in outcome.run.cells] == [0] * 4 + [1] * 4


def test_the_engine_counted_what_the_client_received(outcome: Outcome) -> None:
    for cell in outcome.run.cells:
        texts = {scrape.phase: scrape.text for scrape in outcome.run.scrapes() if scrape.cell == cell.cell}
        counted = difference(*(read_counters(texts[phase], "embedded:") for phase in ("before", "after")))
        received = outcome.run.records(cell.cell)

        assert counted.requests_finished == len(received) == 8
        assert counted.generation_tokens == sum(record.output_tokens or 0 for record in received)
        assert counted.prompt_tokens == sum(record.prompt_tokens or 0 for record in received)
    codes = {finding["code"] for finding in json.loads(outcome.stdout)["findings"]}
    assert not codes & {"books_disagree", "unequal_work", "requests_failed", "unfinished"}


def test_every_number_follows_from_the_requests(outcome: Outcome) -> None:
    assert check_summary(outcome.run.folder) >= 8 * 20


def test_stdout_is_the_summary_and_nothing_else(outcome: Outcome) -> None:
    assert json.loads(outcome.stdout) == json.loads((outcome.run.folder / "summary.json").read_text())
    assert "fp16" in outcome.stderr


def test_the_record_says_what_was_served(outcome: Outcome) -> None:
    arms = outcome.run.manifest.arms
    bits = {name: arm.checkpoint["linear_bits"].value for name, arm in arms.items()}

    assert bits == {"fp16": 16, "w4a16": 4}
    for arm in arms.values():
        assert len(arm.warm_up_tpot_ms) >= 2
        assert (outcome.run.folder / str(arm.replicas[0].log)).stat().st_size > 0


def test_a_report_is_rebuilt_to_the_byte(outcome: Outcome, tmp_path: Path) -> None:
    names = ("summary.json", "report.md", "report.html")
    before = [(outcome.run.folder / name).read_bytes() for name in names]
    with tool(tmp_path, "report", outcome.run.folder, program=AS_INSTALLED) as report:
        assert report.wait() == 0

    assert [(outcome.run.folder / name).read_bytes() for name in names] == before
