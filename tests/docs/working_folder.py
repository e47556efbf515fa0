"""A folder in which the pages' commands find what they name: studies, runs, results, a log."""

import json
from pathlib import Path

import yaml

from tests.arms.models import write_model
from tests.docs.pages import ROOT
from tests.record.importers.make_bench import bench_record
from tests.record.make_run import PowerLaw, SyntheticArm, make_run
from whichbits.analyze.summarize import summarize, summary_json
from whichbits.cli import exit_code
from whichbits.record.run import Run

MINE = "2026-11-29T1404-mine"
RUNS = {f"runs/{MINE}": 12.0, "runs/2026-11-30T0910-mine": 12.1, "before": 12.0, "after": 12.1, "a": 12.0}
RUNS |= {"baseline": 12.0, "results": 12.1}

CALIBRATED = "runs/on-an-l4"
BEGUN = "runs/begun"
MOCKED = ("mock-crossing", "seed-l4-mock")
"""Studies of the pages that run on mocks, and take half a minute as they are."""

STUDY = """
name: mine
gpu: L4
every_arm: {engine: mock, model: Qwen/Qwen2.5-7B-Instruct, options: {ttft_ms: 1, itl_ms: 1}}
arms: {fp16: {weight_format: fp16}, w4a16: {weight_format: w4a16}}
traffic: {kind: random, input_tokens: 8, output_tokens: 4}
loads: [1, 4]
cell: {requests: 8}
warm_up: {at_least_requests: 4, at_most_requests: 4}
"""
PREDICTED = """
name: on-an-l4
gpu: L4
engine_version: 0.25.1
arms: {one: {weight_format: bf16, model: qwen2.5-1.5b, engine: vllm}}
traffic: {kind: random, input_tokens: 50, output_tokens: 20}
loads: [1, 8]
cell: {requests: 16}
"""
NOTEBOOK = {"cells": [{"cell_type": "code", "source": ["!vllm bench serve --model m"]}]}
LOG = """\
(EngineCore pid=9) INFO 07-06 22:50:46 [core.py:114] Initializing a V1 LLM engine (v0.24.0) with config: \
model='org/m', dtype=torch.bfloat16, max_seq_len=4096, tensor_parallel_size=1, quantization=None, enforce_eager=False
(EngineCore pid=9) INFO 07-06 22:52:09 [kv_cache_utils.py:2146] GPU KV cache size: 567,541 tokens
"""


def make_working_folder(folder: Path) -> Path:
    """Fill ``folder`` and return it."""
    (folder / "studies").symlink_to(ROOT / "studies")
    (folder / "study.yaml").write_text(STUDY)
    (folder / "plan-l4.yaml").write_text(_plan_of_one_gpu())
    for name in MOCKED:
        (folder / f"{name}.yaml").write_text(_quick(name))
    (folder / "notebook.ipynb").write_text(json.dumps(NOTEBOOK))
    write_model(folder / "models" / "Qwen2.5-7B-Instruct")
    for name in ("server.log", "before.log", "after.log", "vllm.log", "sglang.log"):
        (folder / name).write_text(LOG)
    for name, tpot_ms in RUNS.items():
        arms = {
            "bf16": SyntheticArm(tpot_ms=PowerLaw(tpot_ms, 0.1)),
            "w4a16": SyntheticArm(tpot_ms=PowerLaw(tpot_ms / 2, 0.35), weight_format="w4a16"),
        }
        made = make_run(folder / "made" / name, arms, loads=(4, 32))
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        made.rename(folder / name)
    for name, run in {"a.json": "before", "b.json": "after"}.items():
        (folder / name).write_bytes(summary_json(summarize(Run.load(folder / run))))
    for name in ("results.json", "bench.json"):
        (folder / name).write_text(json.dumps(bench_record()))
    for name in ("fp16_results", "w4a16_results"):
        (folder / name).mkdir()
        (folder / name / "c1.json").write_text(json.dumps(bench_record()))
    return folder


def _quick(name: str) -> str:
    """A study of the pages with mocks a tenth as slow and fewer requests: its arms, loads and predictions stand."""
    study = yaml.safe_load((ROOT / "studies" / f"{name}.yaml").read_text())
    for settings in (study["every_arm"], *study["arms"].values()):
        options = settings.get("options", {})
        settings["options"] = {key: value / 10 if key.endswith("_ms") else value for key, value in options.items()}
    short = {"repeats": 1, "cell": {"requests": 8}, "warm_up": {"at_least_requests": 2, "at_most_requests": 4}}
    return yaml.safe_dump(study | short)


def _plan_of_one_gpu() -> str:
    """The plan of the pages with its first GPU only, which takes a third of the time."""
    plan = yaml.safe_load((ROOT / "studies" / "plan-chat.yaml").read_text())
    plan["plan"]["gpus"] = {"L4": plan["plan"]["gpus"]["L4"]}
    return str(yaml.safe_dump(plan))


def add_own_runs(folder: Path) -> Path:
    """Add what only whichbits itself can make: a run to go on with, and constants fitted to a run."""
    _calibrate(folder)
    _begin(folder)
    return folder


def _begin(folder: Path) -> None:
    """Leave a run of the mocks, which can be gone on with."""
    made = folder / "made" / "begun"
    # A busy machine makes the client late, which is exit 6.
    assert exit_code(["run", str(folder / "study.yaml"), "--output", str(made), "--plain"]) in (0, 6)
    next(made.iterdir()).rename(folder / BEGUN)


def _calibrate(folder: Path) -> None:
    """Leave a run that the predictor can be fitted to, and constants fitted to it."""
    (folder / "predicted.yaml").write_text(PREDICTED)
    predict = [
        "predict",
        str(folder / "predicted.yaml"),
        "--output",
        str(folder / "made" / "predicted"),
        "--draws",
        "0",
    ]
    assert exit_code(predict) == 0
    next((folder / "made" / "predicted").iterdir()).rename(folder / CALIBRATED)
    assert exit_code(["calibrate", str(folder / CALIBRATED), "-o", str(folder / "mine.json")]) == 0
