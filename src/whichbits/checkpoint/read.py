"""Reads a checkpoint folder without loading it: config.json, and the headers of its safetensors files."""

import json
from pathlib import Path
from typing import Literal

from whichbits.checkpoint.config import Config, Shape, shape_of
from whichbits.checkpoint.declared import declared_parts
from whichbits.checkpoint.facts import Checkpoint
from whichbits.checkpoint.parts import Parts
from whichbits.checkpoint.quantization import Quantization, quantization_of
from whichbits.checkpoint.safetensors import broken, read_tensors
from whichbits.checkpoint.stored import parts_of
from whichbits.errors import BadInput


def read_checkpoint(path: Path) -> Checkpoint:
    """Read the folder of a Hugging Face checkpoint; one without safetensors is taken from its config alone.

    Raises:
        BadInput: ``checkpoint_unreadable`` if there is no folder with a config.json, ``checkpoint_broken`` if a
            file is cut short or not what its name says, ``checkpoint_shape_unknown`` if the config lacks sizes.
    """
    config = _config(path)
    tensors = read_tensors(path)
    if not tensors:
        return from_config(config)
    quantization = quantization_of(config)
    try:
        parts = parts_of(tensors, None if quantization is None else quantization.bits)
    except (ValueError, IndexError, ZeroDivisionError) as error:
        broken(path, f"shapes of tensors that belong together do not fit ({error})")
    return _checkpoint("tensors", shape_of(config), quantization, parts)


def from_config(config: Config) -> Checkpoint:
    """Return the checkpoint that ``config`` declares, as an engine with dummy weights would hold it.

    Raises:
        BadInput: ``checkpoint_shape_unknown``.
    """
    shape, quantization = shape_of(config), quantization_of(config)
    return _checkpoint("config", shape, quantization, declared_parts(shape, quantization))


def _config(path: Path) -> Config:
    file = path / "config.json"
    try:
        config = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadInput(
            "checkpoint_unreadable",
            f"{file} cannot be read: {error.strerror}",
            why="the path is wrong, is not the folder of a Hugging Face checkpoint, or belongs to somebody else",
            fix="name the folder that holds config.json beside the weights",
        ) from None
    except ValueError as error:
        broken(file, f"not JSON ({error})")
    if not isinstance(config, dict):
        broken(file, "not a JSON object")
    return config


def _checkpoint(
    source: Literal["tensors", "config"], shape: Shape, quantization: Quantization | None, parts: Parts
) -> Checkpoint:
    tied = _is_tied(shape, parts)
    return Checkpoint(
        source=source,
        model_type=shape.model_type,
        architecture=shape.architecture,
        dtype=shape.dtype,
        layers=shape.layers,
        heads=shape.heads,
        kv_heads=shape.kv_heads,
        head_dim=shape.head_dim,
        hidden=shape.hidden,
        intermediate=shape.intermediate,
        vocabulary=shape.vocabulary,
        max_position_embeddings=shape.max_position_embeddings,
        sliding_window=shape.sliding_window,
        tied_embeddings=tied,
        experts=shape.experts,
        experts_per_token=shape.experts_per_token,
        kv_elements_per_token=shape.kv_elements_per_token,
        attention_flops_per_context_token=shape.attention_flops_per_context_token,
        parameters=parts.parameters,
        linears=parts.linears,
        linear_bits=parts.linear_bits,
        quantized_share=parts.quantized_share,
        total_bytes=parts.total_bytes,
        linear_bytes=parts.linear_bytes,
        expert_bytes=parts.expert_bytes,
        embedding_bytes=parts.embedding_bytes,
        lm_head_bytes=parts.embedding_bytes if tied else parts.lm_head_bytes,
        lm_head_parameters=shape.vocabulary * shape.hidden,
        encoder_bytes=parts.encoder_bytes,
        other_bytes=parts.other_bytes,
        quant_method=None if quantization is None else quantization.method,
        config_bits=None if quantization is None else quantization.bits,
        activation_bits=None if quantization is None else quantization.activation_bits,
        group_size=None if quantization is None else quantization.group_size,
        symmetric=None if quantization is None else quantization.symmetric,
        ignored=() if quantization is None else quantization.ignored,
        weight_kind=None if quantization is None else quantization.weight_kind,
    )


def _is_tied(shape: Shape, parts: Parts) -> bool:
    """Believe the config; where it is silent, a head that is not stored is tied."""
    return parts.lm_head_bytes == 0 if shape.tied_embeddings is None else bool(shape.tied_embeddings)
