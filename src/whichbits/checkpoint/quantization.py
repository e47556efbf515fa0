"""quantization_config of a checkpoint: what its maker says was done to which linear layers."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from whichbits.checkpoint.config import Config, language_model

_KINDS: Mapping[str, Literal["int", "fp"]] = {"int": "int", "float": "fp"}


@dataclass(frozen=True)
class Quantization:
    """The declared format of the linear layers. None is: not said."""

    method: str
    bits: int | None
    activation_bits: int | None = None
    group_size: int | None = None
    symmetric: bool | None = None
    ignored: tuple[str, ...] = ()
    weight_kind: Literal["int", "fp"] | None = None

    def leaves(self, module: str) -> bool:
        """Say whether ``module`` stays unquantised: named, inside a named one, or matching a ``re:`` pattern."""
        return any(_covers(entry, module) for entry in self.ignored)


def quantization_of(config: Config) -> Quantization | None:
    """Return what config.json declares; None if it declares nothing.

    Known: gptq, awq, compressed-tensors, fp8, bitsandbytes, modelopt; of others only the name and plain keys are read.
    """
    declared = config.get("quantization_config") or language_model(config).get("quantization_config")
    if not isinstance(declared, Mapping):
        return None
    method = str(declared.get("quant_method") or "unknown").lower()
    match method:
        case "compressed-tensors":
            return _compressed_tensors(declared)
        case "fp8":
            return _fp8(declared)
        case "bitsandbytes":
            return _bitsandbytes(declared)
        case _:
            return _grouped(method, declared)


def _grouped(method: str, declared: Config) -> Quantization:
    symmetric = declared.get("sym", None if "zero_point" not in declared else not declared["zero_point"])
    return Quantization(
        method=method,
        bits=_whole(declared.get("bits", declared.get("w_bit"))),
        group_size=_whole(declared.get("group_size", declared.get("q_group_size"))),
        symmetric=symmetric,
        ignored=_names(declared, "modules_to_not_convert", "ignore", "exclude_modules"),
    )


def _fp8(declared: Config) -> Quantization:
    block = declared.get("weight_block_size")
    return Quantization(
        method="fp8",
        bits=8,
        activation_bits=8 if declared.get("activation_scheme") in ("dynamic", "static") else None,
        group_size=_whole(block[1]) if isinstance(block, list) and len(block) > 1 else -1,
        symmetric=True,
        ignored=_names(declared, "modules_to_not_convert", "ignored_layers"),
        weight_kind="fp",
    )


def _bitsandbytes(declared: Config) -> Quantization:
    four = bool(declared.get("load_in_4bit", declared.get("_load_in_4bit")))
    eight = bool(declared.get("load_in_8bit", declared.get("_load_in_8bit")))
    return Quantization(
        method="bitsandbytes",
        bits=4 if four else 8 if eight else None,
        # LLM.int8() multiplies in 8 bits; the 4-bit kinds dequantise.
        activation_bits=8 if eight and not four else None,
        group_size=64 if four else -1,
        symmetric=True,
        ignored=_names(declared, "llm_int8_skip_modules"),
    )


def _compressed_tensors(declared: Config) -> Quantization:
    """Take the widest weight scheme of the groups: mixed checkpoints are rare, and the tensors tell the rest."""
    groups = declared.get("config_groups")
    schemes = [group for group in groups.values() if isinstance(group, Mapping)] if isinstance(groups, Mapping) else []
    first: Config = max(schemes, key=lambda group: _bits(group.get("weights")) or 0, default={})
    weights = first.get("weights") or {}
    grouped = weights.get("strategy") in ("group", "tensor_group", "block")
    return Quantization(
        method="compressed-tensors",
        bits=_bits(weights),
        activation_bits=_bits(first.get("input_activations")),
        group_size=_whole(weights.get("group_size")) or _block(weights) if grouped else -1,
        symmetric=weights.get("symmetric"),
        ignored=_names(declared, "ignore"),
        weight_kind=_KINDS.get(str(weights.get("type"))),
    )


def _bits(scheme: Any) -> int | None:
    return _whole(scheme.get("num_bits")) if isinstance(scheme, Mapping) else None


def _block(weights: Config) -> int | None:
    block = weights.get("block_structure")
    return _whole(block[1]) if isinstance(block, list) and len(block) > 1 else None


def _whole(value: Any) -> int | None:
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _names(declared: Config, *keys: str) -> tuple[str, ...]:
    lists = [declared[key] for key in keys if isinstance(declared.get(key), list)]
    return tuple(str(name) for name in lists[0]) if lists else ()


def _covers(entry: str, module: str) -> bool:
    if entry.startswith("re:"):
        try:
            return re.match(entry[3:], module) is not None
        except re.error:
            return False
    return f".{entry}." in f".{module}."
