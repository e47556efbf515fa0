"""config.json's quantization_config, as engines read it: a wrong one makes them serve 16 bits without a word."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from whichbits.arms.layers import Choice
from whichbits.arms.recipe import Recipe
from whichbits.errors import BadInput

_LAYER = re.compile(r"^.*?\blayers\.\d+\.")
_FORMS = {"int": "int-quantized", "float": "float-quantized"}


def declare(config: Mapping[str, Any], recipe: Recipe, choice: Choice) -> dict[str, Any]:
    """Return config.json of the arm.

    Raises:
        BadInput: ``arm_awq_names`` if AWQ's way of naming exceptions cannot tell this model's layers apart.
    """
    declared = {"compressed-tensors": _compressed_tensors, "gptq": _gptq, "awq": _awq}[recipe.scheme](recipe, choice)
    return {**config, "quantization_config": declared}


def _compressed_tensors(recipe: Recipe, choice: Choice) -> dict[str, Any]:
    weights = {
        "num_bits": recipe.bits,
        "type": recipe.kind,
        "strategy": recipe.strategy,
        "group_size": recipe.group_size,
        "symmetric": recipe.symmetric,
        "dynamic": False,
        "observer": "minmax",
    }
    tokens = {"num_bits": 8, "type": recipe.kind, "strategy": "token", "symmetric": True, "dynamic": True}
    group = {
        "targets": ["Linear"],
        "weights": weights,
        "input_activations": tokens if recipe.activation_bits else None,
        "output_activations": None,
    }
    return {
        "quant_method": "compressed-tensors",
        "format": _FORMS[recipe.kind] if recipe.bits == 8 else "pack-quantized",
        "quantization_status": "compressed",
        "config_groups": {"group_0": group},
        "ignore": _exceptions(choice),
        "kv_cache_scheme": None,
    }


def _gptq(recipe: Recipe, choice: Choice) -> dict[str, Any]:
    """Name the quantised modules: with a name too few vLLM takes the config and serves 16 bits."""
    return {
        "quant_method": "gptq",
        "checkpoint_format": "gptq",
        "bits": recipe.bits,
        "group_size": recipe.group_size,
        "sym": recipe.symmetric,
        "desc_act": False,
        "lm_head": False,
        "modules_in_block_to_quantize": [_in_block(choice)],
    }


def _awq(recipe: Recipe, choice: Choice) -> dict[str, Any]:
    exceptions = _exceptions(choice)
    _insist_on_no_overlap(exceptions, [matrix.module for matrix in choice.quantised])
    return {
        "quant_method": "awq",
        "version": "gemm",
        "bits": recipe.bits,
        "group_size": recipe.group_size,
        "zero_point": True,
        "modules_to_not_convert": exceptions,
    }


def _exceptions(choice: Choice) -> list[str]:
    """Return the modules that stay wide: the head is named even where it is tied, for engines that make one."""
    kept = [module for module, reason in choice.kept.items() if reason not in ("embedding", "lm_head")]
    heads = [module for module, reason in choice.kept.items() if reason == "lm_head"]
    return [*(heads or ["lm_head"]), *kept]


def _in_block(choice: Choice) -> list[str]:
    """Return quantised modules as each block names them, or in full where blocks differ."""
    full = [matrix.module for matrix in choice.quantised]
    short = dict.fromkeys(_LAYER.sub("", module) for module in full)
    differing = any(_LAYER.sub("", module) in short for module in choice.kept)
    return full if differing else list(short)


def _insist_on_no_overlap(exceptions: Iterable[str], quantised: list[str]) -> None:
    for exception in exceptions:
        caught = next((module for module in quantised if exception in module), None)
        if caught is not None:
            raise BadInput(
                "arm_awq_names",
                f"an AWQ config that leaves out {exception} would leave out {caught}, too",
                why="vLLM looks for modules_to_not_convert anywhere in a module's name",
                fix="use --scheme compressed-tensors",
            )
