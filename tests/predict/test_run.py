"""A predicted study is a run like any other."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.predict.studies import SEED_A100, SEED_L4
from whichbits.analyze.summarize import summarize
from whichbits.analyze.summary import Summary
from whichbits.cli import exit_code
from whichbits.conduct.order import visits
from whichbits.errors import BadInput
from whichbits.predict.cell import play_cell
from whichbits.predict.constants import default_constants
from whichbits.predict.quantities import quantities
from whichbits.predict.run import Assumed, deployments, predict_study, question_of
from whichbits.record.run import Run
from whichbits.record.schema import SCHEMA_VERSION, Cell, Manifest
from whichbits.record.writer import RunWriter
from whichbits.study.model import CellSize, Load, Study

SMALL = SEED_L4.model_copy(
    update={"loads": (Load(concurrency=2), Load(concurrency=8)), "cell": CellSize(requests=24), "name": "small"}
)


def predicted(study: Study, folder: Path, draws: int = 4) -> Run:
    manifest = Manifest(
        schema_version=SCHEMA_VERSION,
        source="predicted",
        name=study.name,
        study=study.model_dump(mode="json"),
        created="2026-11-29T14:00:00+00:00",
        origin_unix_ns=0,
        host={},
        tools={},
    )
    writer = RunWriter.create(folder, manifest)
    cells = [cell for visit in visits(study) for cell in visit.cells]
    predict_study(study, cells, writer, Assumed(default_constants(), draws))
    return Run.load(writer.folder)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return predicted(SMALL, tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="module")
def summary(run: Run) -> Summary:
    return summarize(run)


def test_it_reads_like_a_measured_run(run: Run, summary: Summary) -> None:
    assert summary.source == "predicted"
    assert [cell.state for cell in summary.cells] == ["done"] * 6
    assert {cell.requests for cell in summary.cells} == {24}
    assert summary.arms["w8a8"].kernel == "CutlassFP8ScaledMMLinearKernel"
    assert summary.arms["w8a8"].engine_version == "0.27"
    assert not run.interrupted


def test_quantities_of_a_play_are_those_of_its_record(run: Run, summary: Summary) -> None:
    """One formula each: what intervals are drawn from agrees with what the analysis finds in the recorded times."""
    cell = summary.cells[1]
    asked = Cell(cell.cell, cell.arm, cell.concurrency, None, cell.repeat)
    played = play_cell(deployments(SMALL)[cell.arm], question_of(SMALL, asked), default_constants(), keep_steps=True)
    found = quantities(played)
    assert found["tpot_ms.p50"] == pytest.approx(cell.tpot_ms.p50, abs=1e-4)
    assert found["ttft_ms.p99"] == pytest.approx(cell.ttft_ms.p99, abs=1e-4)
    assert found["itl_ms.p99"] == pytest.approx(cell.itl_ms.p99, abs=1e-4)
    assert found["e2e_ms.mean"] == pytest.approx(cell.e2e_ms.mean, abs=1e-4)
    assert found["output_tokens_per_s"] == pytest.approx(cell.output_tokens_per_s, rel=0.01)


def test_every_cell_has_intervals_that_hold_its_values(summary: Summary) -> None:
    for cell in summary.cells:
        for address in ("tpot_ms.p50", "ttft_ms.p50", "itl_ms.p99", "output_tokens_per_s"):
            low, high = cell.intervals[address]
            holder, _, percentile = address.partition(".")
            value = getattr(cell, holder)
            assert low < (getattr(value, percentile) if percentile else value) < high


def test_the_same_study_gives_the_same_numbers(run: Run, tmp_path: Path) -> None:
    again = predicted(SMALL, tmp_path)
    assert [cell.draws for cell in again.cells] == [cell.draws for cell in run.cells]
    assert again.requests.equals(run.requests)


def test_seed_l4_trades_places_between_10_and_100(tmp_path: Path) -> None:
    found = summarize(predicted(SEED_L4, tmp_path, draws=5)).crossovers
    tpot = next(each for each in found if each.metric == "tpot_ms.p50" and each.arms == ("w8a8", "w4a16"))
    assert tpot.verdict == "crosses"
    assert (tpot.leader_low_load, tpot.leader_high_load) == ("w4a16", "w8a8")
    (crossing,) = tpot.crossings
    assert crossing.low is not None
    assert crossing.high is not None
    assert 10 < crossing.low < crossing.load < crossing.high <= 100


def test_requests_are_those_that_a_measured_run_sends(run: Run) -> None:
    from whichbits.traffic.plan import plan_cell

    planned = plan_cell(SMALL, Load(concurrency=8), 0)
    records = run.records(1)
    assert [record.prompt_tokens for record in records] == [len(request.prompt) for request in planned]
    assert [record.output_tokens for record in records] == [request.output_tokens for request in planned]
    assert all(np.diff(record.chunk_ns).min() > 0 for record in records if len(record.chunk_ns) > 1)


def test_warm_caches_are_hit(tmp_path: Path) -> None:
    study = SMALL.model_copy(update={"cache": "warm", "loads": (Load(concurrency=2),)})
    assert summarize(predicted(study, tmp_path, draws=0)).cells[0].prefix_hit_rate == pytest.approx(0.95, abs=0.05)
    assert summarize(predicted(SMALL, tmp_path, draws=0)).cells[0].prefix_hit_rate == 0


def test_a_study_without_a_gpu_is_refused() -> None:
    with pytest.raises(BadInput) as refused:
        deployments(SMALL.model_copy(update={"gpu": None}))
    assert refused.value.code == "no_gpu_named"


def test_an_arm_that_does_not_fit_costs_its_own_cells_only(tmp_path: Path) -> None:
    study = SMALL.model_copy(update={"gpu": "T4"})
    run = predicted(study, tmp_path, draws=0)
    states = {cell.arm: cell.state for cell in run.cells}
    assert states == {"fp16": "skipped", "w8a8": "done", "w4a16": "done"}
    assert "leaves no KV cache" in next(cell for cell in run.cells if cell.arm == "fp16").notes[0]
    assert {cell.arm for cell in summarize(run).cells if cell.tpot_ms.n} == {"w8a8", "w4a16"}


def test_a_request_that_no_cache_holds_is_refused() -> None:
    deployment = deployments(SEED_A100)["bf16"]
    small = replace(deployment, arm=deployment.arm.model_copy(update={"options": {"num_gpu_blocks_override": 100}}))
    question = question_of(SEED_A100, Cell(0, "bf16", 32, 10.0, 0))
    with pytest.raises(BadInput, match="3168 tokens"):
        play_cell(small, question, default_constants())


def test_the_command_prints_a_summary(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    study = tmp_path / "study.yaml"
    study.write_text(
        "name: tiny\narms: {one: {weight_format: bf16, model: qwen3-8b, engine: vllm}}\n"
        "traffic: {kind: random, input_tokens: 50, output_tokens: 8}\nloads: [2]\ncell: {requests: 4}\n"
    )
    arguments = ["predict", str(study), "--output", str(tmp_path), "--json", "--draws", "2"]
    assert exit_code([*arguments, "--gpu", "H200"]) == 0
    said = json.loads(capfdbinary.readouterr().out)
    assert said["source"] == "predicted"
    assert said["arms"]["one"]["facts"]["device_name"] == "H200"
    assert exit_code(arguments) == 2


def test_a_study_whose_replicas_share_a_gpu_says_so_and_is_slower(tmp_path: Path) -> None:
    def of(gpus: tuple[int, ...]) -> Run:
        arm = SMALL.arms["w8a8"].model_copy(
            update={"replicas": 2, "gpus": gpus, "gpu_memory_utilization": 0.45, "max_num_batched_tokens": 512}
        )
        return predicted(SMALL.model_copy(update={"arms": {"w8a8": arm}}), tmp_path / str(gpus), draws=0)

    shared, apart = of((0, 0)), of((0, 1))
    assert any("2 replicas share a GPU" in note for note in shared.manifest.notes)
    assert not any("share a GPU" in note for note in apart.manifest.notes)
    slow, fast = (summarize(each).cells[1].tpot_ms.p50 for each in (shared, apart))
    assert slow is not None
    assert fast is not None
    assert 1.3 * fast < slow < 2.1 * fast
