"""GGUF files as checkpoints: values, names, the order of rotary pairs, and what is refused."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gguf import GGMLQuantizationType, GGUFWriter, quants

from tests.arms.models import Array, read_safetensors
from whichbits.arms.gguf.convert import convert_gguf, unrotated
from whichbits.arms.order import Order, carry_out, source_of
from whichbits.arms.recipe import Wishes
from whichbits.checkpoint.read import read_checkpoint
from whichbits.errors import BadInput

HEADS, KV_HEADS, HEAD = 4, 2, 16
HIDDEN, WIDTH = 64, 96
MATRICES = {
    "attn_q": (HEADS * HEAD, HIDDEN),
    "attn_k": (KV_HEADS * HEAD, HIDDEN),
    "attn_v": (KV_HEADS * HEAD, HIDDEN),
    "attn_output": (HIDDEN, HEADS * HEAD),
    "ffn_gate": (WIDTH, HIDDEN),
    "ffn_up": (WIDTH, HIDDEN),
    "ffn_down": (HIDDEN, WIDTH),
}
WORDS = ["<|end|>", "a", "b", "ab", "Ġ", "Ġa"]


def tensors() -> dict[str, Array]:
    random = np.random.default_rng(3)
    shapes: dict[str, tuple[int, ...]] = {"token_embd.weight": (len(WORDS), HIDDEN), "output_norm.weight": (HIDDEN,)}
    shapes |= {f"blk.0.{name}.weight": shape for name, shape in MATRICES.items()}
    shapes |= {f"blk.0.{name}.weight": (HIDDEN,) for name in ("attn_norm", "ffn_norm")}
    return {name: random.normal(0, 0.05, shape).astype(np.float32) for name, shape in shapes.items()}


def write_gguf(
    file: Path,
    kind: GGMLQuantizationType = GGMLQuantizationType.F16,
    architecture: str = "llama",
    pre: str = "smollm",
    model: str = "gpt2",
    **extra: Array,
) -> dict[str, Array]:
    """Write a model of one layer; return its tensors as the file holds them, in float32."""
    writer = GGUFWriter(file, architecture)
    settings: list[tuple[Callable[[Any], None], Any]] = [
        (writer.add_block_count, 1),
        (writer.add_context_length, 256),
        (writer.add_embedding_length, HIDDEN),
        (writer.add_feed_forward_length, WIDTH),
        (writer.add_head_count, HEADS),
        (writer.add_head_count_kv, KV_HEADS),
        (writer.add_layer_norm_rms_eps, 1e-5),
        (writer.add_rope_freq_base, 1e5),
        (writer.add_tokenizer_model, model),
        (writer.add_tokenizer_pre, pre),
        (writer.add_token_list, WORDS),
        (writer.add_token_types, [3, 1, 1, 1, 1, 1]),
        (writer.add_token_merges, ["a b", "Ġ a"]),
        (writer.add_eos_token_id, 0),
    ]
    for add, value in settings:
        add(value)
    held = {}
    for name, values in (tensors() | extra).items():
        stored = kind if values.ndim > 1 else GGMLQuantizationType.F32
        raw = quants.quantize(values, stored)
        writer.add_tensor(name, raw, raw_dtype=stored)
        held[name] = quants.dequantize(raw, stored).reshape(values.shape).astype(np.float32)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return held


def converted(tmp_path: Path, **changes: Any) -> tuple[dict[str, Array], dict[str, Array]]:
    held = write_gguf(tmp_path / "model.gguf", **changes)
    convert_gguf(tmp_path / "model.gguf", tmp_path / "bf16", "bf16", 2)
    return held, read_safetensors(tmp_path / "bf16")


@pytest.mark.parametrize("kind", ["F32", "F16", "BF16", "Q8_0", "Q4_0", "Q4_1"])
def test_values_are_those_of_the_file_to_bfloat16(tmp_path: Path, kind: str) -> None:
    held, found = converted(tmp_path, kind=GGMLQuantizationType[kind])

    for gguf, name in {
        "ffn_down": "mlp.down_proj",
        "attn_v": "self_attn.v_proj",
        "attn_norm": "input_layernorm",
    }.items():
        expected = held[f"blk.0.{gguf}.weight"]
        assert np.allclose(found[f"model.layers.0.{name}.weight"].astype(np.float32), expected, rtol=2**-8, atol=0)


def test_rows_of_queries_and_keys_go_back_to_halves_of_a_head(tmp_path: Path) -> None:
    """As llama.cpp's converter permutes them: row 2i of a head is transformers' row i, row 2i + 1 its row i + half."""
    held, found = converted(tmp_path)
    half = HEAD // 2
    for gguf, name, heads in (("attn_q", "q_proj", HEADS), ("attn_k", "k_proj", KV_HEADS)):
        rows = [
            head * HEAD + (2 * at if at < half else 2 * (at - half) + 1) for head in range(heads) for at in range(HEAD)
        ]
        expected = held[f"blk.0.{gguf}.weight"][rows]
        assert np.allclose(found[f"model.layers.0.self_attn.{name}.weight"].astype(np.float32), expected, rtol=2**-8)


def test_qwen2_keeps_its_rows(tmp_path: Path) -> None:
    held, found = converted(tmp_path, architecture="qwen2", pre="qwen2")
    query = found["model.layers.0.self_attn.q_proj.weight"].astype(np.float32)

    assert np.allclose(query, held["blk.0.attn_q.weight"], rtol=2**-8)


def test_two_pairs_of_a_head_of_four_rows() -> None:
    rows = np.array([[0], [2], [1], [3]], np.float32)

    assert unrotated(rows, 4).tolist() == [[0], [1], [2], [3]]


def test_the_config_has_the_files_numbers_and_the_reader_agrees(tmp_path: Path) -> None:
    converted(tmp_path)
    config = json.loads((tmp_path / "bf16/config.json").read_text())
    read = read_checkpoint(tmp_path / "bf16")

    assert (config["rms_norm_eps"], config["rope_theta"], config["eos_token_id"]) == (1e-5, 1e5, 0)
    assert (read.layers, read.heads, read.kv_heads, read.head_dim) == (1, HEADS, KV_HEADS, HEAD)
    assert (read.tied_embeddings, read.linear_bits) == (True, 16)


def test_the_tokenizer_has_its_words_merges_and_special_tokens(tmp_path: Path) -> None:
    converted(tmp_path)
    tokenizer = json.loads((tmp_path / "bf16/tokenizer.json").read_text())

    assert tokenizer["model"]["vocab"] == {word: number for number, word in enumerate(WORDS)}
    assert tokenizer["model"]["merges"] == ["a b", "Ġ a"]
    assert [(each["id"], each["content"], each["special"]) for each in tokenizer["added_tokens"]] == [
        (0, "<|end|>", True)
    ]
    assert tokenizer["pre_tokenizer"]["pretokenizers"][0] == {"type": "Digits", "individual_digits": True}


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"architecture": "gemma"}, "gguf_unsupported"),
        ({"pre": "deepseek-llm"}, "gguf_tokenizer"),
        ({"model": "llama"}, "gguf_tokenizer"),
        ({"rope_freqs.weight": np.ones(8, np.float32)}, "gguf_unsupported"),
        ({"blk.0.ffn_gate_exps.weight": np.ones((2, 32), np.float32)}, "gguf_unsupported"),
    ],
)
def test_what_cannot_be_named_with_certainty_is_refused(tmp_path: Path, changes: dict[str, Any], code: str) -> None:
    with pytest.raises(BadInput) as refused:
        converted(tmp_path, **changes)
    assert refused.value.code == code
    assert [path.name for path in tmp_path.iterdir()] == ["model.gguf"]


def test_a_file_that_was_cut_short_leaves_nothing(tmp_path: Path) -> None:
    file = tmp_path / "model.gguf"
    write_gguf(file)
    file.write_bytes(file.read_bytes()[:-4096])

    with pytest.raises(BadInput) as refused:
        convert_gguf(file, tmp_path / "bf16", "bf16", 1)
    assert refused.value.code == "embedded_bad_gguf"
    assert [path.name for path in tmp_path.iterdir()] == ["model.gguf"]


def test_arms_of_a_gguf_file_share_its_16_bit_form(tmp_path: Path) -> None:
    write_gguf(tmp_path / "model.gguf")
    for formats in (["w8a8-int8"], ["w4a16"]):
        order = Order(str(tmp_path / "model.gguf"), formats, Wishes(group_size=32), tmp_path / "arms", 1)
        list(carry_out(order, source_of(order)))

    assert sorted(path.name for path in (tmp_path / "arms").iterdir()) == ["bf16", "w4a16", "w8a8-int8"]


def test_another_files_16_bit_form_is_not_taken_for_this_ones(tmp_path: Path) -> None:
    orders = []
    for name in ("one", "two"):
        write_gguf(tmp_path / f"{name}.gguf", GGMLQuantizationType.F16 if name == "one" else GGMLQuantizationType.Q8_0)
        orders.append(Order(str(tmp_path / f"{name}.gguf"), ["bf16"], Wishes(), tmp_path / "arms", 1))
    source_of(orders[0])

    with pytest.raises(BadInput) as refused:
        source_of(orders[1])
    assert refused.value.code == "arm_exists"
