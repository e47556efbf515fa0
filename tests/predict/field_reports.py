"""What was measured elsewhere, as facts to hold predictions against: two field reports and captures from an H200."""

from collections.abc import Mapping

import numpy as np

from whichbits.predict.cell import Question
from whichbits.predict.simulation.workload import Workload
from whichbits.study.arm import Arm
from whichbits.traffic.draws import Draws, Floats, normal_quantiles

L4: Mapping[tuple[str, int], Mapping[str, float]] = {
    ("fp16", 1): {"tpot_ms.p50": 57.03, "ttft_ms.p50": 95.10, "output_tokens_per_s": 17.46},
    ("fp16", 10): {"tpot_ms.p50": 60.68, "output_tokens_per_s": 136.95},
    ("fp16", 100): {"tpot_ms.p50": 97.72, "ttft_ms.p50": 424.41, "output_tokens_per_s": 642.29},
    ("w8a8", 1): {"tpot_ms.p50": 34.91},
    ("w8a8", 10): {"tpot_ms.p50": 37.27},
    ("w8a8", 100): {"tpot_ms.p50": 66.52, "ttft_ms.p50": 353.78, "output_tokens_per_s": 963.60},
    ("w4a16", 1): {"tpot_ms.p50": 27.79, "ttft_ms.p50": 72.24},
    ("w4a16", 10): {"tpot_ms.p50": 30.04},
    ("w4a16", 100): {"tpot_ms.p50": 75.05, "ttft_ms.p50": 423.26, "output_tokens_per_s": 1044.93},
}
"""Qwen2.5-7B on an L4, vLLM 0.27.1 without graphs, ShareGPT of 218 / 220 tokens on average, 200 requests at 100."""

L4_MEAN_BATCH: Mapping[tuple[str, int], float] = {
    ("fp16", 1): 1.0,
    ("fp16", 10): 8.3,
    ("fp16", 100): 62.8,
    ("w8a8", 100): 64.1,
    ("w4a16", 100): 78.4,
}
"""Throughput times median TPOT, as the report works it out."""

L4_KV_TOKENS = {"fp16": 102_288, "w8a8": 213_424, "w4a16": 269_824}
L4_KV_TOKENS_WITH_GRAPHS = 69_328

A100: Mapping[str, Mapping[str, float]] = {
    "bf16": {
        "ttft_from_send_ms.p50": 621.9,
        "tpot_ms.mean": 154.9,
        "total_tokens_per_s": 17_782,
        "prefix_hit_rate": 0.304,
    },
    "awq": {
        "ttft_from_send_ms.p50": 796.2,
        "tpot_ms.mean": 159.1,
        "total_tokens_per_s": 16_637,
        "prefix_hit_rate": 0.392,
    },
}
"""Qwen3-14B on two A100s, vLLM 0.11.0, prefixes of 3,072 tokens that three requests share, 10 requests/s under 32."""

A100_KV_TOKENS = {"bf16": 283_408, "awq": 402_400}

H200: Mapping[tuple[str, int], tuple[int, float, float, float]] = {
    ("fp16", 1): (8, 4.752, 20.49, 207.8),
    ("fp16", 4): (24, 4.857, 19.53, 628.4),
    ("fp16", 16): (64, 5.212, 25.51, 2031.5),
    ("fp16", 64): (200, 6.796, 80.78, 5833.7),
    ("fp16", 128): (384, 9.551, 197.8, 8936.5),
    ("fp16", 256): (768, 16.95, 1275.3, 10417.5),
    ("fp16", 512): (1536, 26.42, 2876.7, 12597.5),
    ("w8a8", 1): (8, 3.416, 17.83, 288.0),
    ("w8a8", 4): (24, 3.531, 20.99, 863.4),
    ("w8a8", 16): (64, 3.868, 22.75, 2785.6),
    ("w8a8", 64): (200, 5.352, 42.90, 7633.9),
    ("w8a8", 128): (384, 8.229, 166.8, 10758.4),
    ("w8a8", 256): (768, 13.52, 1340.4, 12705.9),
    ("w8a8", 512): (1536, 21.92, 3970.8, 13423.8),
}
"""Qwen2.5-7B without weights on an H200, vLLM 0.25.1: requests, median TPOT, median TTFT (ms), output tokens/s.

From 64 requests at once on, the client's own stamps begin to bunch: TTFT there is partly the client's.
"""

H200_KV_TOKENS = {"fp16": 2_063_088}
H200_ARMS = {
    "fp16": Arm(weight_format="fp16", model="Qwen/Qwen2.5-7B", gpu_memory_utilization=0.9, max_model_len=4096),
    "w8a8": Arm(weight_format="w8a8-fp8", model="Qwen/Qwen2.5-7B", gpu_memory_utilization=0.9, max_model_len=4096),
}


def h200_question(concurrency: int) -> Question:
    """Return the captures' traffic: log-normal lengths (4.9, 1.0) of 4 to 1,500 and (5.1, 0.8) of 4 to 800 tokens."""
    count = H200["fp16", concurrency][0]
    draws = Draws(0, "h200", concurrency)
    prompt, output = _lengths(draws, count, 4.9, 1.0, 1500), _lengths(draws, count, 5.1, 0.8, 800)
    work = Workload(range(count), prompt.astype(int).tolist(), output.astype(int).tolist(), [-1] * count, 0, None)
    return Question(work, concurrency)


def _lengths(draws: Draws, count: int, mean: float, sigma: float, longest: int) -> Floats:
    lengths = np.clip(np.rint(np.exp(mean + sigma * normal_quantiles(count))), 4, longest)
    return lengths[draws.order(count)]
