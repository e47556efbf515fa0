"""A folder in which the pages' commands find what they name: studies, runs, results, a log."""

import json
from pathlib import Path

from tests.docs.pages import ROOT
from tests.record.importers.make_bench import bench_record
from tests.record.make_run import PowerLaw, SyntheticArm, make_run
from whichbits.analyze.summarize import summarize, summary_json
from whichbits.record.run import Run

MINE = "2026-11-29T1404-mine"
RUNS = {f"runs/{MINE}": 12.0, "runs/2026-11-30T0910-mine": 12.1, "before": 12.0, "after": 12.1, "a": 12.0}
RUNS |= {"baseline": 12.0, "results": 12.1}

STUDY = """
name: mine
gpu: L4
every_arm: {engine: mock, model: Qwen/Qwen2.5-7B-Instruct}
arms: {fp16: {weight_format: fp16}, w4a16: {weight_format: w4a16}}
traffic: {kind: random, input_tokens: 8, output_tokens: 4}
loads: [1, 4]
"""
LOG = """\
(EngineCore pid=9) INFO 07-06 22:50:46 [core.py:114] Initializing a V1 LLM engine (v0.24.0) with config: \
model='org/m', dtype=torch.bfloat16, max_seq_len=4096, tensor_parallel_size=1, quantization=None, enforce_eager=False
(EngineCore pid=9) INFO 07-06 22:52:09 [kv_cache_utils.py:2146] GPU KV cache size: 567,541 tokens
"""


def make_working_folder(folder: Path) -> Path:
    """Fill ``folder`` and return it."""
    (folder / "studies").symlink_to(ROOT / "studies")
    (folder / "study.yaml").write_text(STUDY)
    for name in ("server.log", "before.log", "after.log"):
        (folder / name).write_text(LOG)
    for name, tpot_ms in RUNS.items():
        arms = {
            "bf16": SyntheticArm(tpot_ms=PowerLaw(tpot_ms, 0.1)),
            "w4a16": SyntheticArm(tpot_ms=PowerLaw(tpot_ms / 2, 0.35), weight_format="w4a16"),
        }
        made = make_run(folder / "made" / name, arms, loads=(4, 32))
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        made.rename(folder / name)
    (folder / "b.json").write_bytes(summary_json(summarize(Run.load(folder / "after"))))
    for name in ("results.json", "bench.json"):
        (folder / name).write_text(json.dumps(bench_record()))
    for name in ("fp16_results", "w4a16_results"):
        (folder / name).mkdir()
        (folder / name / "c1.json").write_text(json.dumps(bench_record()))
    return folder
