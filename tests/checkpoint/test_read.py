import json
from pathlib import Path
from typing import Any

import pytest

from tests.checkpoint import make_checkpoint as make
from tests.checkpoint.configs import AWQ_INT4, FP8_BLOCK, FP8_DYNAMIC, GPTQ_INT4, W4A16
from whichbits.checkpoint.read import read_checkpoint
from whichbits.errors import BadInput

TABLE_BYTES = 1000 * 256 * 2
NORM_BYTES = 5 * 256 * 2


def layer_bytes(bits: float, a_group: float = 0, group: int = 128, a_row: float = 0, a_column: float = 0) -> float:
    """Bytes of both layers' linears: the weights, and so much a group, an output row and an input column."""
    shapes = make.LINEARS.values()
    return 2 * sum(
        outputs * inputs * bits / 8 + outputs * inputs / group * a_group + outputs * a_row + inputs * a_column
        for outputs, inputs in shapes
    )


@pytest.mark.parametrize(
    ("layout", "bits", "expected"),
    [
        (make.plain, 16, layer_bytes(16)),
        (make.gptq, 4, layer_bytes(4, a_group=2 + 0.5, a_column=4)),
        (make.awq, 4, layer_bytes(4, a_group=2 + 0.5)),
        (make.packed, 4, layer_bytes(4, a_group=2) + 14 * 16),
        (make.fp8, 8, layer_bytes(8, a_row=2)),
        (make.int8, 8, layer_bytes(8, a_row=2)),
        (make.nvfp4, 4, layer_bytes(4, a_group=1, group=16) + 14 * 4),
        (make.mxfp4, 4, layer_bytes(4, a_group=1, group=32)),
    ],
)
def test_the_tensors_tell_width_and_bytes(tmp_path: Path, layout: Any, bits: int, expected: float) -> None:
    entries = make.tensors(layout)

    found = read_checkpoint(make.write(tmp_path, entries))

    assert found.source == "tensors"
    assert found.linear_bits == bits
    assert found.quantized_share == (0 if bits == 16 else 1)
    assert found.linear_bytes == expected
    assert found.embedding_bytes == found.lm_head_bytes == TABLE_BYTES
    assert found.other_bytes == NORM_BYTES
    assert found.total_bytes == make.stored_bytes(entries)
    assert found.linear_parameters == make.LINEAR_PARAMETERS
    assert found.parameters == make.LINEAR_PARAMETERS + 2 * 1000 * 256 + 5 * 256


def test_bitsandbytes_tells_its_shape_in_a_text_among_the_tensors(tmp_path: Path) -> None:
    found = read_checkpoint(make.write(tmp_path, make.tensors(make.nf4)))

    assert found.linear_bits == 4
    assert found.linear_parameters == make.LINEAR_PARAMETERS
    assert found.effective_bits is not None
    assert 4.5 < found.effective_bits < 4.6  # a float32 scale for 64 weights, a table and a text for each layer


def test_shards_are_read_through_their_index(tmp_path: Path) -> None:
    entries = make.tensors(make.packed)

    found = read_checkpoint(make.write_sharded(tmp_path, entries))

    assert found.total_bytes == make.stored_bytes(entries)
    assert found.linear_bits == 4


def test_a_config_that_claims_four_bits_over_plain_tensors_is_seen_through(tmp_path: Path) -> None:
    config = make.TINY | {"quantization_config": GPTQ_INT4}

    found = read_checkpoint(make.write(tmp_path, make.tensors(make.plain), config))

    assert (found.quant_method, found.config_bits) == ("gptq", 4)
    assert (found.linear_bits, found.quantized_share) == (16, 0)


def test_layers_left_wide_lower_the_quantised_share(tmp_path: Path) -> None:
    entries = make.tensors(make.packed)
    for role in make.packed(256, 512):
        del entries[f"model.layers.1.mlp.down_proj.{role}"]
    entries["model.layers.1.mlp.down_proj.weight"] = ("F16", (256, 512))

    found = read_checkpoint(make.write(tmp_path, entries))

    assert found.linear_bits == 4
    assert found.quantized_share == 1 - 256 * 512 / make.LINEAR_PARAMETERS


def test_a_tied_head_reads_the_embedding_and_is_stored_once(tmp_path: Path) -> None:
    config = {key: value for key, value in make.TINY.items() if key != "tie_word_embeddings"}

    found = read_checkpoint(make.write(tmp_path, make.tensors(make.plain, tied=True), config))

    assert found.tied_embeddings
    assert found.lm_head_bytes == found.embedding_bytes == TABLE_BYTES
    assert found.total_bytes == layer_bytes(16) + TABLE_BYTES + NORM_BYTES


def test_experts_are_told_apart_and_fused_ones_unpiled(tmp_path: Path) -> None:
    config = make.TINY | {"num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 64}
    entries: dict[str, make.Entry] = {
        "model.layers.0.mlp.gate.weight": ("F16", (8, 256)),
        "model.layers.0.mlp.experts.gate_up_proj": ("F16", (8, 128, 256)),
        "model.layers.0.mlp.experts.down_proj": ("F16", (8, 256, 64)),
        "model.layers.0.mlp.shared_expert.up_proj.weight": ("F16", (64, 256)),
    }

    found = read_checkpoint(make.write(tmp_path, entries, config))

    assert found.expert_bytes == 8 * (128 * 256 + 256 * 64) * 2
    assert found.linear_bytes == found.expert_bytes + (8 + 64) * 256 * 2
    assert sum(linear.expert for linear in found.linears) == 16


def test_a_vision_tower_is_no_linear_layer_of_the_decoder(tmp_path: Path) -> None:
    entries = make.tensors(make.plain) | {"visual.blocks.0.attn.qkv.weight": ("F16", (96, 32))}

    found = read_checkpoint(make.write(tmp_path, entries))

    assert found.encoder_bytes == 96 * 32 * 2
    assert found.linear_bytes == layer_bytes(16)


@pytest.mark.parametrize(
    ("declared", "method", "bits", "activations", "group", "symmetric"),
    [
        (GPTQ_INT4, "gptq", 4, None, 128, True),
        (AWQ_INT4, "awq", 4, None, 128, False),
        (W4A16, "compressed-tensors", 4, None, 128, True),
        (FP8_DYNAMIC, "compressed-tensors", 8, 8, -1, True),
        (FP8_BLOCK, "fp8", 8, 8, 128, True),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, "bitsandbytes", 4, None, 64, True),
        ({"quant_method": "bitsandbytes", "load_in_8bit": True}, "bitsandbytes", 8, 8, -1, True),
    ],
)
def test_what_the_config_declares(  # noqa: PLR0917 - a row a method
    tmp_path: Path,
    declared: dict[str, Any],
    method: str,
    bits: int,
    activations: int | None,
    group: int,
    symmetric: bool,
) -> None:
    (tmp_path / "config.json").write_text(json.dumps(make.TINY | {"quantization_config": declared}))

    found = read_checkpoint(tmp_path)

    assert (found.quant_method, found.config_bits, found.activation_bits) == (method, bits, activations)
    assert (found.group_size, found.symmetric) == (group, symmetric)


def test_a_folder_without_config_is_unreadable(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as refused:
        read_checkpoint(tmp_path / "nowhere")

    assert refused.value.code == "checkpoint_unreadable"


def cut_short(folder: Path) -> None:
    file = make.write(folder, make.tensors(make.plain)) / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-1])


def cut_in_its_header(folder: Path) -> None:
    file = make.write(folder, make.tensors(make.plain)) / "model.safetensors"
    file.write_bytes(file.read_bytes()[:100])


def without_a_shard(folder: Path) -> None:
    (make.write_sharded(folder, make.tensors(make.plain)) / "model-00002-of-00002.safetensors").unlink()


def with_a_pointer_in_its_place(folder: Path) -> None:
    text = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"
    (make.write(folder, {}) / "model.safetensors").write_text(text)


def with_a_packed_vector(folder: Path) -> None:
    make.write(folder, {"model.layers.0.mlp.up_proj.qweight": ("I32", (64,))})


def with_scales_of_nothing(folder: Path) -> None:
    module = "model.layers.0.mlp.up_proj"
    packed = {f"{module}.{role}": entry for role, entry in make.gptq(128, 128).items()}
    make.write(folder, packed | {f"{module}.scales": ("F16", (1, 0))})


def with_a_config_that_is_no_json(folder: Path) -> None:
    (folder / "config.json").write_text("{")


def with_a_list_as_config(folder: Path) -> None:
    (folder / "config.json").write_text("[]")


def with_a_broken_index(folder: Path) -> None:
    (make.write_sharded(folder, make.tensors(make.plain)) / "model.safetensors.index.json").write_text("[]")


@pytest.mark.parametrize(
    "damage",
    [
        cut_short,
        cut_in_its_header,
        without_a_shard,
        with_a_pointer_in_its_place,
        with_a_packed_vector,
        with_scales_of_nothing,
        with_a_config_that_is_no_json,
        with_a_list_as_config,
        with_a_broken_index,
    ],
)
def test_damage_is_refused_by_name(tmp_path: Path, damage: Any) -> None:
    damage(tmp_path)

    with pytest.raises(BadInput) as refused:
        read_checkpoint(tmp_path)

    assert refused.value.code == "checkpoint_broken"


@pytest.mark.parametrize("missing", ["hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size"])
def test_a_config_without_sizes_is_refused(tmp_path: Path, missing: str) -> None:
    (tmp_path / "config.json").write_text(json.dumps({key: make.TINY[key] for key in make.TINY if key != missing}))

    with pytest.raises(BadInput, match=missing) as refused:
        read_checkpoint(tmp_path)

    assert refused.value.code == "checkpoint_shape_unknown"
