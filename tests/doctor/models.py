"""Checkpoints on disk, as far as a look at their files goes, and studies of them."""

import json
from pathlib import Path
from typing import Any

from whichbits.study.model import Study

QWEN_7B: dict[str, Any] = {
    "architectures": ["Qwen2ForCausalLM"],
    "model_type": "qwen2",
    "hidden_size": 3584,
    "intermediate_size": 18944,
    "num_hidden_layers": 28,
    "num_attention_heads": 28,
    "num_key_value_heads": 4,
    "vocab_size": 152064,
    "torch_dtype": "bfloat16",
}
GPTQ = {"quant_method": "gptq", "bits": 4, "group_size": 128, "sym": True}


def study(*arms: dict[str, Any], **keys: Any) -> Study:
    """Return a study of arms named a, b, c."""
    named = dict(zip("abc", arms, strict=False))
    return Study.model_validate({"name": "s", "arms": named, "traffic": {"kind": "chat"}, "loads": [1], **keys})


def qwen(folder: Path, **config: Any) -> dict[str, Any]:
    """Write a whole checkpoint of Qwen2.5-7B without its numbers; return an arm of it."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(QWEN_7B | config))
    (folder / "tokenizer.json").write_text("{}")
    (folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": "{{ messages }}"}))
    return {"weight_format": "bf16", "model": str(folder), "engine": "vllm", "load_format": "dummy"}
