"""What an arm's model is: its own folder if there is one, else the shape of a well-known name in the arm's format."""

import re
import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from whichbits.checkpoint.facts import Checkpoint
from whichbits.checkpoint.read import from_config, read_checkpoint
from whichbits.errors import BadInput
from whichbits.study.arm import Arm, WeightFormat

_GROUP = 128


def checkpoint_of(arm: Arm) -> Checkpoint:
    """Return the arm's checkpoint.

    Raises:
        BadInput: ``model_shape_unknown`` if the model is neither a folder with a config.json nor a known name.
    """
    folder = Path(arm.model)
    if (folder / "config.json").is_file():
        return read_checkpoint(folder)
    return _known_checkpoint(arm.model, arm.weight_format, arm.quantization)


@cache
def _known_checkpoint(model: str, weight_format: WeightFormat, quantization: str | None) -> Checkpoint:
    return from_config(_config(known_shape(model), weight_format, f"{model} {quantization or ''}".lower()))


def known_shape(model: str) -> Mapping[str, Any]:
    """Return the built-in shape whose name the model's name begins with; the longest such name wins."""
    name = model.rstrip("/").rpartition("/")[2].lower()
    fitting = [known for known in _shapes() if re.match(rf"{re.escape(known)}(?![0-9.a-z])", name)]
    if not fitting:
        near = get_close_matches(name, _shapes(), n=1)
        raise BadInput(
            "model_shape_unknown",
            f"the shape of {model!r} is not known" + (f"; did you mean {near[0]}?" if near else ""),
            why="it is neither a folder with a config.json nor a model of the built-in table",
            fix=f"name the folder of a checkpoint (its config.json is enough), or one of: {', '.join(_shapes())}",
        )
    return _shapes()[max(fitting, key=len)]


@cache
def _shapes() -> Mapping[str, Mapping[str, Any]]:
    table = tomllib.loads(files("whichbits.predict.deployment").joinpath("shapes.toml").read_text(encoding="utf-8"))
    models: dict[str, Mapping[str, Any]] = table["model"]
    return models | {name: models[shape] for name, shape in table["like"].items()}


def _config(known: Mapping[str, Any], weight_format: WeightFormat, words: str) -> dict[str, Any]:
    layers, hidden, intermediate, heads, kv_heads, head_dim, vocabulary = known["shape"]
    config = {
        "model_type": known["type"],
        "num_hidden_layers": layers,
        "hidden_size": hidden,
        "intermediate_size": intermediate,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "head_dim": head_dim,
        "vocab_size": vocabulary,
        "tie_word_embeddings": known.get("tied", False),
        "torch_dtype": "float16" if weight_format == "fp16" else "bfloat16",
    }
    if "experts" in known:
        config |= dict(
            zip(("num_experts", "num_experts_per_tok", "moe_intermediate_size"), known["experts"], strict=True)
        )
    quantization = _quantization(weight_format, words)
    return config | ({} if quantization is None else {"quantization_config": quantization})


def _quantization(weight_format: WeightFormat, words: str) -> dict[str, Any] | None:
    """Return the quantisation config that checkpoints of a format usually have; the name may tell AWQ from GPTQ."""
    if weight_format == "w4a16" and ("awq" in words or "gptq" in words):
        return _AWQ if "awq" in words else _GPTQ
    return _USUAL.get(weight_format)


def _compressed(bits: int, kind: str, activations: int | None) -> dict[str, Any]:
    grouped = {"strategy": "group", "group_size": _GROUP} if bits == 4 else {"strategy": "channel"}
    weights = {"num_bits": bits, "type": kind, "symmetric": True, **grouped}
    inputs = None if activations is None else {"num_bits": activations, "type": kind, "strategy": "token"}
    groups = {"group_0": {"weights": weights, "input_activations": inputs}}
    return {"quant_method": "compressed-tensors", "config_groups": groups, "ignore": ["lm_head"]}


_AWQ = {"quant_method": "awq", "bits": 4, "group_size": _GROUP, "zero_point": True}
_GPTQ = {"quant_method": "gptq", "bits": 4, "group_size": _GROUP, "sym": True}
_USUAL: Mapping[WeightFormat, dict[str, Any]] = {
    "w8a8-fp8": _compressed(8, "float", activations=8),
    "w8a8-int8": _compressed(8, "int", activations=8),
    "w4a16": _compressed(4, "int", activations=None),
    "w8a16": _GPTQ | {"bits": 8},
}
