"""Two published field reports as summaries, from nothing but what they print; see docs/field-reports.md."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from tests.analyze.make_cell import summary
from tests.analyze.make_observed import UNKNOWN
from tests.analyze.test_field_report import LOADS, MEDIAN_TPOT, MEDIAN_TTFT, P99_ITL, P99_TPOT, P99_TTFT, THROUGHPUT
from tests.analyze.test_seed_a100 import ANSWER, CAP, PREFIX, PREFIXES, REQUESTS, SUFFIX
from tests.analyze.test_seed_a100 import KV_TOKENS as A100_KV_TOKENS
from tests.analyze.test_seed_l4 import DECLARED, KV_GIB, LOADED_GIB
from tests.analyze.test_seed_l4 import KV_TOKENS as L4_KV_TOKENS
from tests.checkpoint.configs import QWEN25_7B
from tests.record.make_run import manifest
from whichbits.analyze.arms import arm_summary
from whichbits.analyze.cache.expected import Prompt, Replicas, expected_hit_rate
from whichbits.analyze.conclude import Inputs, conclude
from whichbits.analyze.latency.throughput import mean_batch
from whichbits.analyze.latency.times import is_thin
from whichbits.analyze.summary import ArmSummary, CellSummary, Distribution, Summary
from whichbits.checkpoint.read import from_config
from whichbits.record.schema import ArmRecord, Fact, Manifest, ReplicaRecord

BEGIN, END = "<!-- what the rules say of the {}: begin -->", "<!-- what the rules say of the {}: end -->"


def l4_report() -> Summary:
    """Qwen2.5-7B in FP16, W8A8 and W4A16 on one L4: medians at three loads, throughput where it is printed."""
    dtypes = {"fp16": "float16", "w8a8": "bfloat16", "w4a16": "float16"}
    kernels = {"w8a8": "CutlassFP8ScaledMMLinearKernel", "w4a16": "MarlinLinearKernel"}
    starts = {"fp16": 110.88, "w8a8": 5.58, "w4a16": 7.46}
    formats = {"fp16": "fp16", "w8a8": "w8a8-fp8", "w4a16": "w4a16"}
    records = {}
    for arm in MEDIAN_TPOT:
        said: dict[str, Any] = {
            "engine_version": "0.27.1",
            "device_name": "NVIDIA L4",
            "model": "Qwen2.5-7B-Instruct",
            "dtype": dtypes[arm],
            "enforce_eager": True,
            "attention_backend": "FLASH_ATTN",
            "max_model_len": 4096,
            "model_memory_gib": LOADED_GIB[arm],
            "kv_cache_memory_gib": KV_GIB[arm],
            "kv_cache_tokens": L4_KV_TOKENS[arm],
            "init_engine_seconds": starts[arm],
            "quant_kernels": kernels.get(arm),
        }
        declared = DECLARED[arm]
        shape = QWEN25_7B if declared is None else QWEN25_7B | {"quantization_config": declared}
        records[arm] = _record(arm, formats[arm], said, 1, from_config(shape).scalars())
    study = {
        "traffic": {"kind": "chat (ShareGPT V3)"},
        "request": {"forced_length": False},
        "predictions": [
            "fp16.tpot_median at load 10 < 1.1 * fp16.tpot_median at load 1",
            "7 * fp16.output_throughput at load 1 < fp16.output_throughput at load 10",
            "w4a16.tpot_median < w8a8.tpot_median at load 1",
            "w8a8.tpot_median < w4a16.tpot_median at load 100",
            "w4a16/w8a8 tpot_median crosses in 10..100",
        ],
    }
    run = _manifest("l4", study, records)
    cells = [_l4_cell(arm, at) for arm in MEDIAN_TPOT for at in range(len(LOADS))]
    return _concluded(run, cells)


def a100_report() -> Summary:
    """Qwen3-14B in BF16 and AWQ, two replicas each behind a Service: one cell an arm."""
    records = {}
    for arm, weights in {"bf16": "bf16", "awq": "w4a16"}.items():
        said = {
            "engine_version": "0.11.0",
            "model": "Qwen3-14B",
            "max_model_len": 8192,
            "enable_prefix_caching": True,
            "block_size": 16,
            "gpu_memory_utilization": 0.9,
            "kv_cache_tokens": A100_KV_TOKENS[arm],
        }
        records[arm] = _record(arm, weights, said, 2, {})
    traffic = {"kind": "prefix_repetition", "prefixes": PREFIXES, "prefix_tokens": PREFIX, "suffix_tokens": SUFFIX}
    run = _manifest("a100", {"traffic": traffic, "request": {"forced_length": True}}, records)
    bf16 = _a100_cell("bf16", (621.9, 3481), (190.12, 154.86), (17_782, 0.304, 42))
    awq = _a100_cell("awq", (796.2, 5914), (21.05, 159.14), (16_637, 0.392, 47))
    return _concluded(run, [bf16, awq])


def _l4_cell(arm: str, at: int) -> CellSummary:
    tpot, load = MEDIAN_TPOT[arm][at], LOADS[at]
    # One stream is busy all the time, so that 1000 / TPOT is its throughput, less some prefill.
    pace = THROUGHPUT[arm][at] or (1000 / tpot if load == 1 else None)
    requests = 2 * load if load == 100 else 0
    thin = _thin(requests)
    itl = P99_ITL.get(arm, (None, None, None))[at]
    return replace(
        bare(arm, load),
        requests=requests,
        prompt_tokens=218 * requests or None,
        output_tokens=220 * requests,
        tpot_ms=Distribution(requests, None, tpot, None, P99_TPOT[arm][at], thin),
        ttft_ms=Distribution(requests, None, MEDIAN_TTFT[arm][at], None, P99_TTFT[arm][at], thin),
        itl_ms=replace(UNKNOWN, p99=itl),
        output_tokens_per_s=THROUGHPUT[arm][at],
        mean_batch=1.0 if load == 1 else mean_batch(pace, tpot),
        mean_context_tokens=218 + 220 / 2,
        preemptions=0 if arm == "fp16" and load == 100 else None,
    )


def _a100_cell(
    arm: str, ttft: tuple[float, float], itl: tuple[float, float], work: tuple[float, float, int]
) -> CellSummary:
    median, mean = itl
    total, hit_rate, peak = work
    tokens = REQUESTS * (PREFIX + SUFFIX + ANSWER)
    return replace(
        bare(arm, CAP),
        request_rate=10.0,
        requests=REQUESTS,
        prompt_tokens=REQUESTS * (PREFIX + SUFFIX),
        output_tokens=REQUESTS * ANSWER,
        duration_s=tokens / total,
        output_tokens_per_s=REQUESTS * ANSWER * total / tokens,
        total_tokens_per_s=total,
        # All answers have 32 tokens, so that mean TPOT is mean ITL.
        tpot_ms=replace(UNKNOWN, mean=mean),
        itl_ms=Distribution(0, mean, median, None, None),
        ttft_ms=Distribution(REQUESTS, None, ttft[0], None, ttft[1], _thin(REQUESTS)),
        requests_per_s=REQUESTS * total / tokens,
        prefix_hit_rate=hit_rate,
        expected_prefix_hit_rate=_expected(A100_KV_TOKENS[arm]),
        peak_concurrency=peak,
    )


def _thin(requests: int) -> tuple[str, ...]:
    """Percentiles beyond which fewer than ten of so many requests lie; an unknown number is not few."""
    return tuple(f"p{percent}" for percent in (90, 99) if requests and is_thin(requests, percent))


def _expected(kv_cache_tokens: int) -> tuple[float, float]:
    """What an LRU of this size gives for 160 prefixes, three prompts of each, at random over two replicas."""
    order = np.random.default_rng(0).permutation(np.repeat(np.arange(PREFIXES), REQUESTS // PREFIXES))
    prompts = [Prompt(int(prefix), PREFIX, SUFFIX, ANSWER) for prefix in order]
    found = expected_hit_rate(prompts, Replicas(2, kv_cache_tokens, 16, CAP), None)
    assert found is not None
    return found.low, found.high


def bare(arm: str, load: int) -> CellSummary:
    """A cell of which nothing is known but its place."""
    return replace(
        summary(arm, load, 1.0),
        client_verdict=None,
        ttft_from_send_ms=UNKNOWN,
        itl_ms=UNKNOWN,
        e2e_ms=UNKNOWN,
        goodput_requests_per_s=None,
        cached_tokens=None,
        duration_s=None,
        requests_per_s=None,
        total_tokens_per_s=None,
        steady_output_tokens_per_s=None,
        mean_batch=None,
        peak_concurrency=None,
        prefix_hit_rate=None,
        itl_modes=None,
        prefill_steps=None,
        ttft_by_cache=None,
        intervals={},
        replicas=(),
    )


def _record(arm: str, weights: str, said: dict[str, Any], replicas: int, shape: dict[str, Any]) -> ArmRecord:
    facts = {name: Fact(value, "report") for name, value in said.items() if value is not None}
    servers = tuple(ReplicaRecord(str(each), (), {}, "", None, None, facts) for each in range(replicas))
    return ArmRecord(arm, weights, "vllm", {name: Fact(value, "config.json") for name, value in shape.items()}, servers)


def _manifest(name: str, study: dict[str, Any], records: dict[str, ArmRecord]) -> Manifest:
    return replace(manifest(name), source="imported", host={}, study=study, arms=records)


def _concluded(run: Manifest, cells: list[CellSummary]) -> Summary:
    arms: dict[str, ArmSummary] = {name: arm_summary(run, record) for name, record in run.arms.items()}
    numbered = tuple(replace(cell, cell=number) for number, cell in enumerate(cells))
    return conclude(Inputs(run, run.name, arms, numbered))


def listing(found: Summary) -> str:
    """The findings of a report as the page shows them."""
    lines = []
    for finding in found.findings:
        settled = f" *Would settle it: {finding.settled_by}.*" if finding.settled_by else ""
        lines.append(f"* `{finding.code}` ({finding.kind}): {finding.text}{settled}")
    return "\n".join(lines)


def refreshed(page: str, summaries: Mapping[str, Summary]) -> str:
    """The page with its listings made anew."""
    for name, found in summaries.items():
        begin, end = BEGIN.format(name), END.format(name)
        before, _, rest = page.partition(begin)
        _, _, after = rest.partition(end)
        page = f"{before}{begin}\n\n{listing(found)}\n\n{end}{after}"
    return page
