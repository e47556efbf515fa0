"""quantization_config: the words that vLLM's readers look for."""

from pathlib import Path
from typing import Any

import pytest

from tests.arms.models import LAYER, weights, write_model
from whichbits.arms.declaration import declare
from whichbits.arms.files.source import open_source
from whichbits.arms.layers import choose
from whichbits.arms.recipe import Wishes, recipes_of

SHORT = [
    *("mlp.down_proj", "mlp.gate_proj", "mlp.up_proj"),
    *("self_attn.k_proj", "self_attn.o_proj", "self_attn.q_proj", "self_attn.v_proj"),
]


def declared(model: Path, name: str, **wishes: Any) -> dict[str, Any]:
    source = open_source(model)
    (recipe,) = recipes_of([name], Wishes(**wishes))
    config: dict[str, Any] = declare(source.config, recipe, choose(source, recipe))["quantization_config"]
    return config


@pytest.mark.parametrize(("name", "kind"), [("w8a8-int8", "int"), ("w8a8-fp8", "float")])
def test_eight_bits_quantise_tokens_as_they_come(tmp_path: Path, name: str, kind: str) -> None:
    config = declared(write_model(tmp_path), name)
    group = config["config_groups"]["group_0"]

    assert (config["quant_method"], config["format"]) == ("compressed-tensors", f"{kind}-quantized")
    assert (group["weights"]["num_bits"], group["weights"]["type"], group["weights"]["strategy"]) == (
        8,
        kind,
        "channel",
    )
    tokens = group["input_activations"]
    assert (tokens["num_bits"], tokens["type"], tokens["strategy"], tokens["dynamic"]) == (8, kind, "token", True)
    assert config["ignore"] == ["lm_head"]


def test_four_bits_leave_activations_alone(tmp_path: Path) -> None:
    config = declared(write_model(tmp_path), "w4a16", symmetric=False)
    group = config["config_groups"]["group_0"]

    assert config["format"] == "pack-quantized"
    assert group["input_activations"] is None
    assert (group["weights"]["group_size"], group["weights"]["symmetric"]) == (128, False)


def test_gptq_names_quantised_modules_as_each_block_does(tmp_path: Path) -> None:
    config = declared(write_model(tmp_path), "w4a16", scheme="gptq")

    assert (config["bits"], config["sym"], config["desc_act"], config["lm_head"]) == (4, True, False, False)
    assert config["modules_in_block_to_quantize"] == [SHORT]


def test_gptq_names_them_in_full_where_blocks_differ(tmp_path: Path) -> None:
    """A name as the block has it would stand for the block that stays wide, too, and vLLM would look for its codes."""
    tensors = weights(2, LAYER)
    tensors["model.layers.1.mlp.down_proj.weight"] = tensors["model.layers.1.mlp.down_proj.weight"][:, :200]
    names = declared(write_model(tmp_path, tensors), "w4a16", scheme="gptq")["modules_in_block_to_quantize"][0]

    assert "model.layers.0.mlp.down_proj" in names
    assert "model.layers.1.mlp.down_proj" not in names
    assert "model.layers.1.mlp.up_proj" in names
    assert len(names) == 13


def test_awq_names_what_is_not_converted(tmp_path: Path) -> None:
    tensors = weights(1, LAYER | {"mlp.router": (8, 128)})
    config = declared(write_model(tmp_path, tensors, num_hidden_layers=1), "w4a16", scheme="awq")

    assert (config["bits"], config["zero_point"], config["version"]) == (4, True, "gemm")
    assert config["modules_to_not_convert"] == ["lm_head", "model.layers.0.mlp.router"]
