"""Studies that a real vLLM on two cores serves in seconds."""

import json
from pathlib import Path
from typing import Any

from tests.vllm.tiny_qwen2 import TOKEN_IDS

ENVIRONMENT = {
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "OMP_NUM_THREADS": "1",
    "HF_HUB_OFFLINE": "1",
}
PREFIX_TOKENS = 96
TRAFFIC = {
    "kind": "prefix_repetition",
    "prefixes": 12,
    "prefix_tokens": PREFIX_TOKENS,
    "suffix_tokens": 16,
    "output_tokens": 8,
}


def arm(python: Path, model: Path, **changes: Any) -> dict[str, Any]:
    """One arm that starts quickly: eager, made-up weights."""
    plain = {
        "weight_format": "bf16",
        "engine": "vllm",
        "python": str(python),
        "model": str(model),
        "enforce_eager": True,
        "load_format": "dummy",
        "max_model_len": 1024,
        "block_size": 32,
        "enable_prefix_caching": True,
        "gpu_memory_utilization": 0.2,
        "environment": ENVIRONMENT,
    }
    return plain | changes


def write_study(folder: Path, arms: dict[str, Any], **changes: Any) -> Path:
    """Write a study whose traffic is the first seed's, scaled down; run folders go below ``folder``/runs."""
    study = {
        "name": "vllm",
        "arms": arms,
        "traffic": TRAFFIC,
        "loads": [{"request_rate": 10, "concurrency": 8}],
        "cell": {"requests": 48},
        "token_ids": TOKEN_IDS,
        "cache": "reset",
        "warm_up": {"at_least_requests": 4, "at_most_requests": 8},
        "limits": {"ready_seconds": 600},
        "output": str(folder / "runs"),
    }
    path = folder / "study.yaml"
    path.write_text(json.dumps(study | changes), encoding="utf-8")
    return path
