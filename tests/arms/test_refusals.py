"""What cannot be made is said in one error, and leaves nothing that looks whole."""

import json
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.arms.models import weights, write_model
from whichbits.arms.codes.packing import pack
from whichbits.arms.codes.rounding import encode
from whichbits.arms.declaration import declare
from whichbits.arms.files.source import open_source
from whichbits.arms.layers import choose
from whichbits.arms.order import Order, carry_out, source_of
from whichbits.arms.provenance import Arm
from whichbits.arms.recipe import Wishes, recipes_of
from whichbits.errors import ArmMismatch, BadInput


def carried_out(tmp_path: Path, model: Path, *formats: str, **wishes: Any) -> list[Arm]:
    order = Order(str(model), formats or ("w8a8-int8",), Wishes(**wishes), tmp_path / "arms", 2)
    return list(carry_out(order, source_of(order)))


def code_of(call: Callable[[], object]) -> str:
    with pytest.raises((BadInput, ArmMismatch)) as refused:
        call()
    return refused.value.code


def left(tmp_path: Path) -> list[str]:
    return [path.name for path in (tmp_path / "arms").glob("*")] if (tmp_path / "arms").exists() else []


@pytest.mark.parametrize(
    ("formats", "wishes", "code"),
    [
        (("w4a8",), {}, "arm_format_unknown"),
        (("bf16",), {}, "arm_format_unknown"),
        (("w4a16",), {"scheme": "exl2"}, "arm_scheme_unknown"),
        (("w4a16",), {"group_size": 12}, "arm_wish_unusable"),
        (("w8a8-fp8",), {"fp8_scales": "block"}, "arm_wish_unusable"),
    ],
)
def test_unknown_wishes(tmp_path: Path, formats: tuple[str, ...], wishes: dict[str, Any], code: str) -> None:
    model = write_model(tmp_path / "model")

    assert code_of(lambda: carried_out(tmp_path, model, *formats, **wishes)) == code
    assert left(tmp_path) == []


def test_a_near_miss_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="did you mean 'w8a8-fp8'"):
        recipes_of(["fp8"], Wishes())


def test_a_folder_that_is_no_checkpoint(tmp_path: Path) -> None:
    assert code_of(lambda: carried_out(tmp_path, tmp_path)) == "checkpoint_unreadable"


def test_a_checkpoint_without_safetensors(tmp_path: Path) -> None:
    model = write_model(tmp_path / "model")
    (model / "model.safetensors").unlink()

    assert code_of(lambda: carried_out(tmp_path, model)) == "arm_no_weights"


def test_a_checkpoint_that_is_quantised_already(tmp_path: Path) -> None:
    (arm,) = carried_out(tmp_path, write_model(tmp_path / "model"))

    assert code_of(lambda: carried_out(tmp_path / "again", arm.folder)) == "arm_source_quantised"


def test_a_missing_shard(tmp_path: Path) -> None:
    model = write_model(tmp_path / "model")
    index = {"weight_map": {"model.norm.weight": "model-00002-of-00002.safetensors"}}
    (model / "model.safetensors.index.json").write_text(json.dumps(index))

    assert code_of(lambda: carried_out(tmp_path, model)) == "checkpoint_broken"


def test_an_output_that_exists_stops_all_before_any_is_made(tmp_path: Path) -> None:
    model = write_model(tmp_path / "model")
    carried_out(tmp_path, model, "w4a16")

    assert code_of(lambda: carried_out(tmp_path, model, "w8a8-int8", "w4a16")) == "arm_exists"
    assert left(tmp_path) == ["w4a16"]


def test_a_full_disk_is_seen_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = write_model(tmp_path / "model")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=1000))

    assert code_of(lambda: carried_out(tmp_path, model)) == "arm_no_room"
    assert left(tmp_path) == []


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["w8a8-fp8", "w8a8-int8", "w4a16"])
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_weights_that_are_no_numbers(tmp_path: Path, name: str, bad: float) -> None:
    tensors = weights()
    tensors["model.layers.1.mlp.up_proj.weight"][200, 3] = bad

    assert code_of(lambda: carried_out(tmp_path, write_model(tmp_path / "model", tensors), name)) == "arm_not_finite"
    assert left(tmp_path) == []


def test_groups_that_fit_few_layers_name_a_size_that_fits_all(tmp_path: Path) -> None:
    tensors = weights(1, {"mlp.gate_proj": (256, 192), "mlp.down_proj": (64, 128)})
    model = write_model(tmp_path / "model", tensors, num_hidden_layers=1)

    with pytest.raises(BadInput) as refused:
        carried_out(tmp_path, model, "w4a16")
    assert (refused.value.code, refused.value.fix) == ("arm_layers_unfit", "use --group-size 64")


def test_layers_of_unknown_names_are_not_guessed_at(tmp_path: Path) -> None:
    model = write_model(tmp_path / "model", weights(1, {"mixer.in_proj": (128, 128)}))

    assert code_of(lambda: carried_out(tmp_path, model)) == "arm_layers_unfit"


def test_an_exception_that_awq_would_spread_to_a_quantised_layer(tmp_path: Path) -> None:
    layer = {"mlp.gate_proj": (256, 128), "mlp.down_proj": (128, 256), "mlp.gate": (8, 128)}
    source = open_source(write_model(tmp_path / "model", weights(1, layer)))
    (recipe,) = recipes_of(["w4a16"], Wishes(scheme="awq"))

    assert code_of(lambda: declare(source.config, recipe, choose(source, recipe))) == "arm_awq_names"


@pytest.mark.parametrize(
    "header",
    [
        b"[]",
        b'{"w": 1}',
        b'{"w": {"dtype": "BF16", "shape": [2, 2], "data_offsets": [0, 4]}}',
        b'{"w": {"dtype": "BF16", "shape": [-2, -2], "data_offsets": [0, 8]}}',
        b'{"w": {"dtype": "BF16", "shape": [4], "data_offsets": [8, 0]}}',
        b'{"w": {"dtype": "Q9", "shape": [4], "data_offsets": [0, 4]}}',
        b'{"w": {"dtype": "BF16", "shape": [4000000000, 4000000000], "data_offsets": [0, 8]}}',
        b'{"w": {"dtype": "BF16", "shape": [4], "data_offsets": [1000, 1008]}}',
        b"\xff\xfe",
    ],
)
def test_hostile_headers(tmp_path: Path, header: bytes) -> None:
    model = write_model(tmp_path / "model")
    (model / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + bytes(16))

    assert code_of(lambda: carried_out(tmp_path, model)) == "checkpoint_broken"


def test_a_header_longer_than_the_file(tmp_path: Path) -> None:
    model = write_model(tmp_path / "model")
    (model / "model.safetensors").write_bytes(struct.pack("<Q", 2**62) + b"{}")

    assert code_of(lambda: carried_out(tmp_path, model)) == "checkpoint_broken"


@pytest.mark.parametrize("scheme", ["compressed-tensors", "gptq", "awq"])
def test_scales_in_another_order_are_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scheme: str) -> None:
    """The scales of each block are written upside down."""
    monkeypatch.setattr("whichbits.arms.codes.layouts.encode", lambda scales, dtype: encode(scales[::-1], dtype))
    tensors = {
        name: values * np.linspace(0.2, 3, len(values)).reshape(-1, *[1] * (values.ndim - 1))
        for name, values in weights().items()
    }

    model = write_model(tmp_path / "model", tensors)
    assert code_of(lambda: carried_out(tmp_path, model, "w4a16", scheme=scheme)) == "arm_error_too_large"
    assert left(tmp_path) == []


def test_words_in_another_order_are_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whichbits.arms.codes.layouts.pack", lambda codes: pack(codes[:, ::-1]))

    assert code_of(lambda: carried_out(tmp_path, write_model(tmp_path / "m"), "w4a16")) == "arm_error_too_large"
