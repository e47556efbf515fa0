"""Whole arms: what lies in their files, worked out again from the source by the formats' descriptions."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.arms.models import Array, read_safetensors, weights, write_model
from whichbits.arms.blocks import blocks_of
from whichbits.arms.files.source import fingerprints, open_source
from whichbits.arms.make import make_arm, plan_arm
from whichbits.arms.provenance import Arm
from whichbits.arms.recipe import Wishes, recipes_of
from whichbits.checkpoint.read import read_checkpoint

DOWN = "model.layers.1.mlp.down_proj"
KEPT = ("model.embed_tokens.weight", "lm_head.weight", "model.norm.weight")


def made(tmp_path: Path, name: str, model: Path | None = None, **wishes: Any) -> Arm:
    source = open_source(model or write_model(tmp_path / "model"))
    (recipe,) = recipes_of([name], Wishes(**wishes))
    return make_arm(source, plan_arm(source, recipe), tmp_path / "arms", fingerprints(source.files, 1), 2)


def original(tmp_path: Path, module: str = DOWN) -> Array:
    return read_safetensors(tmp_path / "model")[f"{module}.weight"].astype(np.float32)


def relative(found: Array, expected: Array) -> float:
    return float(np.sqrt(np.square(found - expected).sum() / np.square(expected).sum()))


def nibbles(words: Array, axis: int) -> Array:
    """Codes of words, the lowest bits first, along ``axis``."""
    parts = [(words.view(np.uint32) >> (4 * place)) & 15 for place in range(8)]
    stacked = np.stack(parts, axis + 1)
    shape = list(words.shape)
    shape[axis] *= 8
    return stacked.reshape(shape).astype(np.float32)


@pytest.mark.parametrize(("name", "error"), [("w8a8-int8", 0.01), ("w8a8-fp8", 0.03)])
def test_eight_bits_are_a_code_a_weight_and_a_scale_a_row(tmp_path: Path, name: str, error: float) -> None:
    tensors = read_safetensors(made(tmp_path, name).folder)
    codes, scales = (tensors[f"{DOWN}.{role}"].astype(np.float32) for role in ("weight", "weight_scale"))

    assert scales.shape == (128, 1)
    assert relative(codes * scales, original(tmp_path)) < error


def test_one_fp8_scale_may_serve_a_matrix(tmp_path: Path) -> None:
    arm = made(tmp_path, "w8a8-fp8", fp8_scales="tensor")
    tensors = read_safetensors(arm.folder)
    found = tensors[f"{DOWN}.weight"].astype(np.float32) * tensors[f"{DOWN}.weight_scale"].astype(np.float32)
    largest = np.abs(original(tmp_path)).max()

    assert tensors[f"{DOWN}.weight_scale"].astype(np.float32) == pytest.approx([largest / 448], rel=2**-8)
    assert relative(found, original(tmp_path)) < 0.04


@pytest.mark.parametrize("symmetric", [True, False])
def test_compressed_tensors_pack_along_inputs_and_zero_points_along_outputs(tmp_path: Path, symmetric: bool) -> None:
    tensors = read_safetensors(made(tmp_path, "w4a16", symmetric=symmetric).folder)
    codes = nibbles(tensors[f"{DOWN}.weight_packed"], 1).reshape(128, 2, 128)
    scales = tensors[f"{DOWN}.weight_scale"].astype(np.float32)
    zeros = np.float32(8) if symmetric else nibbles(tensors[f"{DOWN}.weight_zero_point"], 0)[:, :, None]

    assert tensors[f"{DOWN}.weight_shape"].tolist() == [128, 256]
    assert (f"{DOWN}.weight_zero_point" in tensors) is not symmetric
    assert relative(((codes - zeros) * scales[:, :, None]).reshape(128, 256), original(tmp_path)) < 0.13


@pytest.mark.parametrize("symmetric", [True, False])
def test_gptq_is_transposed_and_stores_zero_points_less_one(tmp_path: Path, symmetric: bool) -> None:
    tensors = read_safetensors(made(tmp_path, "w4a16", scheme="gptq", symmetric=symmetric).folder)
    codes = nibbles(tensors[f"{DOWN}.qweight"], 0)
    zeros = nibbles(tensors[f"{DOWN}.qzeros"], 1) + 1
    order = tensors[f"{DOWN}.g_idx"]
    found = (codes - zeros[order]) * tensors[f"{DOWN}.scales"].astype(np.float32)[order]

    assert order.tolist() == [0] * 128 + [1] * 128
    assert not symmetric or set(tensors[f"{DOWN}.qzeros"].view(np.uint32).ravel().tolist()) == {0x77777777}
    assert relative(found.T, original(tmp_path)) < 0.13


def test_awq_is_packed_along_outputs_in_an_order_of_its_own(tmp_path: Path) -> None:
    tensors = read_safetensors(made(tmp_path, "w4a16", scheme="awq").folder)
    places = [0, 4, 1, 5, 2, 6, 3, 7]  # where each of eight outputs lies, as vLLM takes them out
    codes, zeros = (
        nibbles(tensors[f"{DOWN}.{role}"], 1).reshape(-1, 16, 8)[:, :, places].reshape(-1, 128)
        for role in ("qweight", "qzeros")
    )
    groups = np.arange(256) // 128
    found = (codes - zeros[groups]) * tensors[f"{DOWN}.scales"].astype(np.float32)[groups]

    assert relative(found.T, original(tmp_path)) < 0.12


@pytest.mark.parametrize("name", ["w8a8-int8", "w4a16"])
def test_all_but_linear_layers_stay_as_they_were(tmp_path: Path, name: str) -> None:
    found, source = read_safetensors(made(tmp_path, name).folder), read_safetensors(tmp_path / "model")

    assert all(found[kept].tobytes() == source[kept].tobytes() for kept in KEPT)
    assert not any(name.endswith("_proj.weight") and values.dtype.itemsize == 2 for name, values in found.items())


@pytest.mark.parametrize(
    ("name", "scheme", "bits", "activations"),
    [
        ("w8a8-int8", "compressed-tensors", 8, 8),
        ("w8a8-fp8", "compressed-tensors", 8, 8),
        ("w4a16", "compressed-tensors", 4, None),
        ("w4a16", "gptq", 4, None),
        ("w4a16", "awq", 4, None),
    ],
)
def test_an_arm_reads_as_what_it_is_and_is_as_large_as_predicted(
    tmp_path: Path, name: str, scheme: str, bits: int, activations: int | None
) -> None:
    arm = made(tmp_path, name, scheme=scheme)
    found = read_checkpoint(arm.folder)

    assert (found.quant_method, found.linear_bits, found.activation_bits) == (scheme, bits, activations)
    assert found.quantized_share == 1
    assert arm.bytes.predicted is not None
    uncounted = {"weight_shape": 16, "g_idx": 4 * 128}.get("g_idx" if scheme == "gptq" else "weight_shape", 0)
    assert arm.bytes.predicted <= arm.bytes.stored <= arm.bytes.predicted + 14 * 2 * uncounted


def test_provenance_names_source_hash_and_each_layers_error(tmp_path: Path) -> None:
    arm = made(tmp_path, "w4a16")
    said = json.loads((arm.folder / "whichbits-arm.json").read_text())

    assert list(said["source"]["sha256"]) == ["model.safetensors"]
    assert len(said["layers"]) == 14
    assert all(0.5 < each["relative_error"] / each["expected"] < 1.5 for each in said["layers"])
    assert (arm.folder / "tokenizer.json").read_text() == "{}"


def test_tied_embeddings_have_no_head_to_keep(tmp_path: Path) -> None:
    tensors = weights()
    del tensors["lm_head.weight"]
    arm = made(tmp_path, "w8a8-int8", write_model(tmp_path / "model", tensors, tie_word_embeddings=True))

    assert "lm_head.weight" not in read_safetensors(arm.folder)
    assert json.loads((arm.folder / "config.json").read_text())["quantization_config"]["ignore"] == ["lm_head"]


@pytest.mark.parametrize("dtype", ["F16", "F32"])
def test_other_wide_types_are_read_too(tmp_path: Path, dtype: str) -> None:
    arm = made(tmp_path, "w8a8-fp8", write_model(tmp_path / "model", dtype=dtype))

    assert arm.typical_error < 0.03


def test_experts_are_quantised_and_their_router_is_not(tmp_path: Path) -> None:
    experts = {
        f"mlp.experts.{n}.{name}": (128, 128) for n in range(3) for name in ("gate_proj", "up_proj", "down_proj")
    }
    attention = dict.fromkeys(("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"), (128, 128))
    tensors = weights(1, attention | experts | {"mlp.gate": (8, 128)})
    model = write_model(tmp_path / "model", tensors, num_hidden_layers=1, num_experts=3, model_type="qwen3_moe")
    arm = made(tmp_path, "w4a16", model)

    assert arm.kept["model.layers.0.mlp.gate"] == "router"
    assert len(arm.errors) == 12
    config = json.loads((arm.folder / "config.json").read_text())
    assert config["quantization_config"]["ignore"] == ["lm_head", "model.layers.0.mlp.gate"]


def test_a_layer_that_does_not_fit_stays_wide_with_all_that_engines_fuse_with_it(tmp_path: Path) -> None:
    layer = {"self_attn.q_proj": (128, 128), "self_attn.k_proj": (60, 128), "self_attn.v_proj": (60, 128)}
    tensors = weights(1, layer | {"self_attn.o_proj": (128, 128), "mlp.down_proj": (128, 1024)})
    arm = made(tmp_path, "w4a16", write_model(tmp_path / "model", tensors, num_hidden_layers=1), scheme="gptq")

    assert {module.rpartition(".")[2] for module, why in arm.kept.items() if "outputs" in why} == {
        "q_proj",
        "k_proj",
        "v_proj",
    }


def test_blocks_and_slices_leave_no_seam(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = {name: values.tobytes() for name, values in read_safetensors(made(tmp_path, "w4a16").folder).items()}
    for name, size in {"_BLOCK_BYTES": 2 * 128 * 24, "_CACHE_WEIGHTS": 640}.items():
        monkeypatch.setattr(f"whichbits.arms.blocks.{name}", size)
    arm = made(tmp_path / "cut", "w4a16", tmp_path / "model")
    matrix = plan_arm(open_source(tmp_path / "model"), arm.recipe).choice.quantised[0]

    assert len(list(blocks_of(matrix, arm.recipe))) > 4
    assert {name: values.tobytes() for name, values in read_safetensors(arm.folder).items()} == whole
