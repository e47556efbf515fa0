"""Public measurements as facts: each row with the arm, the GPU and the traffic under which it was taken."""

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from whichbits.predict.calibrate import Observation
from whichbits.predict.cell import Question
from whichbits.predict.deployment.deployment import Deployment
from whichbits.predict.simulation.workload import Workload
from whichbits.study.arm import Arm, WeightFormat
from whichbits.traffic.draws import Draws
from whichbits.traffic.lengths import log_normal_lengths

_FILE = Path(__file__).with_name("public_rows.csv")
_SHARE_GPT = 1000
"""Requests that the ShareGPT table sends at once."""
_FORMATS: Mapping[str, tuple[WeightFormat, str]] = {
    "BF16": ("bf16", ""),
    "BF16+KV-FP8": ("bf16", ""),
    "AWQ": ("w4a16", "-awq"),
    "AWQ-Marlin": ("w4a16", "-awq"),
    "GPTQ-Int4": ("w4a16", "-gptq"),
    "GPTQ-Marlin": ("w4a16", "-gptq"),
    "GPTQ-Marlin-Int4": ("w4a16", "-gptq"),
    "GPTQ-Int8": ("w8a16", "-gptq"),
    "GPTQ-Marlin-Int8": ("w8a16", "-gptq"),
    "W4A16": ("w4a16", ""),
    "FP8-static": ("w8a8-fp8", ""),
    "FP8-dynamic": ("w8a8-fp8", ""),
}
"""Formats that the predictor can be asked for; bitsandbytes needs a checkpoint of its own."""


@dataclass(frozen=True)
class Row:
    """One number of a public table, under its address in summary.json."""

    table: str
    gpu: str
    gpus: int
    model: str
    vllm: str
    format: str
    eager: bool
    prompt_tokens: int | None
    metric: str
    value: float

    @property
    def place(self) -> tuple[str, str, int, str, int | None, str]:
        """What two rows share whose formats may be compared."""
        return (self.table, self.gpu, self.gpus, self.model, self.prompt_tokens, self.metric)


def public_rows() -> list[Row]:
    """Return every row that can be predicted: those whose traffic and format are told.

    Of the ShareGPT table only throughput: its mean TTFT of 3.4 s in BF16 on an A100 would need 500 TFLOPS if its 1,000
    prompts of 215 tokens were sent at once, as it says, and its mean TPOT is that of its shortest answers.
    """
    lines = [line for line in _FILE.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    rows = [_row(told) for told in csv.DictReader(lines)]
    told = [row for row in rows if row.table != "l4lab" and row.format in _FORMATS]
    return [row for row in told if row.table != "gpustack" or row.metric == "total_tokens_per_s"]


def public_observations() -> Iterator[tuple[Row, Observation]]:
    """Return each row with its observation, ready to be predicted."""
    for row in public_rows():
        deployment = Deployment.of(_arm(row), row.gpu, row.vllm)
        yield row, Observation(f"{row.model} {row.format}", deployment, _question(row), {row.metric: row.value})


def _row(told: Mapping[str, str]) -> Row:
    return Row(
        table=told["table"],
        gpu=told["gpu"],
        gpus=int(told["gpus"]),
        model=told["model"].removesuffix("-instruct"),
        vllm=told["vllm"],
        format=told["format"],
        eager=told["setting"] == "eager",
        prompt_tokens=int(told["prompt_tokens"]) if told["prompt_tokens"] else None,
        metric=told["metric"],
        value=float(told["value"]),
    )


def _arm(row: Row) -> Arm:
    weight_format, suffix = _FORMATS[row.format]
    forced = "awq" if row.table == "gpustack" and row.format == "AWQ" and row.gpu != "H100 SXM" else None
    return Arm(
        weight_format=weight_format,
        model=f"{row.model}{suffix}",
        quantization=forced,
        kv_cache_dtype="fp8" if row.format.endswith("KV-FP8") else None,
        tensor_parallel_size=row.gpus,
        enforce_eager=row.eager or None,
        gpu_memory_utilization=0.97 if row.table == "qwen" else None,
    )


def _question(row: Row) -> Question:
    if row.prompt_tokens is not None:
        return Question(Workload([0], [row.prompt_tokens], [2048], [-1], 0, None), 1)
    draws = Draws(0, "public")
    prompt = log_normal_lengths(draws, _SHARE_GPT, 215, 1.2, 1024).tolist()
    output = log_normal_lengths(draws, _SHARE_GPT, 198, 1.1, 1000).tolist()
    return Question(Workload(range(_SHARE_GPT), prompt, output, [-1] * _SHARE_GPT, 0, None), _SHARE_GPT)
