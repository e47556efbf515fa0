"""Golden predictions: what this release says of both field reports, and of steps on other GPUs, so that drift is seen.

    PYTHONPATH=src:. python -m tests.predict.golden

writes them anew; say in the changelog why they moved.
"""

import json
from collections.abc import Iterator
from pathlib import Path

from tests.predict.studies import SEED_A100, SEED_L4
from whichbits.predict.cell import play_cell
from whichbits.predict.constants import default_constants
from whichbits.predict.deployment.capacity import room_of
from whichbits.predict.deployment.deployment import Deployment
from whichbits.predict.deployment.step_time import pace_of
from whichbits.predict.quantities import quantities
from whichbits.predict.run import deployments, question_of
from whichbits.record.schema import Cell
from whichbits.study.arm import Arm, WeightFormat

_STEPS: tuple[tuple[str, WeightFormat, str, int, str], ...] = (
    ("llama-3.1-8b", "fp16", "T4", 2, "0.9.2"),
    ("llama-3.1-8b", "w4a16", "A10", 1, "0.9.2"),
    ("llama-3.1-8b", "w8a8-int8", "RTX A6000", 1, "0.7.2"),
    ("llama-3.1-8b", "w8a8-fp8", "L40S", 1, "0.25.1"),
    ("llama-3.1-8b", "w4a16", "RTX 4090", 1, "0.9.2"),
    ("llama-3.1-8b", "w4a16", "H100 SXM", 1, "0.25.1"),
    ("qwen2.5-72b", "bf16", "A100 80GB SXM", 4, "0.11.0"),
    ("qwen2.5-72b", "w8a8-fp8", "H100 SXM", 2, "0.25.1"),
    ("qwen3-30b-a3b", "bf16", "H200", 1, "0.25.1"),
    ("qwen3-32b", "w8a8-fp8", "B200", 1, "0.33.0"),
    ("qwen3-32b", "bf16", "MI300X", 1, "0.33.0"),
)
FILE = Path(__file__).with_name("golden.json")
_KEPT = ("tpot_ms.p50", "tpot_ms.p99", "itl_ms.p50", "ttft_ms.p50", "output_tokens_per_s", "prefix_hit_rate")


def golden() -> dict[str, dict[str, float]]:
    """Return the kept quantities of every cell of both studies."""
    found = {}
    for study in (SEED_L4, SEED_A100):
        for arm, deployment in deployments(study).items():
            for load in study.fixed_loads:
                question = question_of(study, Cell(0, arm, load.concurrency, load.request_rate, 0))
                said = quantities(play_cell(deployment, question, default_constants(), keep_steps=True))
                found[f"{study.name} {arm} {load}"] = {name: round(said[name], 6) for name in _KEPT}
    return found | dict(_steps())


def _steps() -> Iterator[tuple[str, dict[str, float]]]:
    """Yield what a step takes, in ms, and what a cache holds, for GPUs, formats and models that no cell above has."""
    for model, weight_format, gpu, gpus, version in _STEPS:
        arm = Arm(weight_format=weight_format, model=model, max_model_len=4096, tensor_parallel_size=gpus)
        deployment = Deployment.of(arm, gpu, version)
        pace = pace_of(deployment, default_constants())
        said = {"decode of 1": pace.decode[1], "decode of 64": pace.decode[64], "512 tokens": pace.mixed[512]}
        tokens = room_of(deployment, default_constants()).kv_cache_tokens
        yield (
            f"{model} {weight_format} on {gpus} x {gpu}, {version}",
            {name: round(1e3 * seconds, 6) for name, seconds in said.items()} | {"kv_cache_tokens": tokens},
        )


if __name__ == "__main__":
    FILE.write_text(json.dumps(golden(), indent=1) + "\n")
