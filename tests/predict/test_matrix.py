"""Every GPU with every format, over models and versions: served or refused, and never beyond what the hardware can."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

from whichbits.errors import BadInput
from whichbits.hardware.devices import Device, Figure, devices
from whichbits.predict.constants import default_constants
from whichbits.predict.deployment.capacity import room_of
from whichbits.predict.deployment.deployment import Deployment
from whichbits.predict.deployment.grounds import grounds
from whichbits.predict.deployment.step_time import pace_of
from whichbits.study.arm import Arm, WeightFormat

CONSTANTS = default_constants()
FORMATS: tuple[WeightFormat, ...] = tuple(form for form in get_args(WeightFormat) if form != "unknown")
MODELS = ("qwen2.5-0.5b", "llama-3.1-8b", "qwen3-8b-awq", "qwen3-30b-a3b")
VERSIONS = ("0.6.3", "0.9.2", "0.33.0")
REFUSALS = {"kernel_impossible", "does_not_fit", "capability_unsupported"}


def placed(model: str, form: WeightFormat, gpu: str, version: str = "0.25.1", **settings: Any) -> Deployment:
    limits = {"max_num_batched_tokens": 512, "max_num_seqs": 64} | settings
    return Deployment.of(Arm(weight_format=form, model=model, max_model_len=4096, **limits), gpu, version)


def served(versions: tuple[str, ...] = ("0.25.1",)) -> Iterator[Deployment]:
    """Every combination that is served, of small models on all GPUs."""
    for gpu, form, model, version in product(devices(), FORMATS, MODELS, versions):
        try:
            deployment = placed(model, form, gpu, version)
            room_of(deployment, CONSTANTS)
        except BadInput as error:
            if error.code not in REFUSALS or not error.fix:
                raise
        else:
            yield deployment


SERVED = tuple((deployment, pace_of(deployment, CONSTANTS)) for deployment in served())


def test_whatever_the_version_it_is_served_or_refused_with_what_works() -> None:
    found = list(served(VERSIONS))
    assert len(found) > 600
    for deployment in found:
        assert grounds(deployment, CONSTANTS)


def test_every_gpu_serves_some_format_and_most_serve_all_that_their_tensor_cores_know() -> None:
    by_gpu: dict[str, set[str]] = {}
    for deployment, _ in SERVED:
        by_gpu.setdefault(deployment.device.name, set()).add(deployment.arm.weight_format)
    assert set(by_gpu) == set(devices())
    assert by_gpu["T4"] == {"fp16", "w8a8-fp8", "w8a8-int8", "w8a16", "w4a16"}
    assert by_gpu["H100 SXM"] == set(FORMATS) - {"fp32", "w4a8-int8"}
    assert "w8a8-int8" not in by_gpu["B200"]


def test_no_step_is_faster_than_the_memory_and_the_tensor_cores_allow() -> None:
    for deployment, pace in SERVED:
        checkpoint, device = deployment.checkpoint, deployment.device
        share = (checkpoint.experts_per_token or 1) / (checkpoint.experts or 1)
        dense = checkpoint.linear_bytes - checkpoint.expert_bytes
        read = dense + share * checkpoint.expert_bytes + checkpoint.lm_head_bytes
        assert pace.decode[1] > read / (device.bandwidth_gb_s * 1e9)
        met = checkpoint.linear_parameters - (1 - share) * checkpoint.expert_parameters
        peak = max(figure.value for figure in device.peaks.values())
        budget = deployment.max_num_batched_tokens
        assert pace.mixed[budget] > 2 * met * budget / (peak * 1e12)


def test_a_step_is_not_many_times_slower_than_the_hardware_allows_either() -> None:
    """Dense models of 5 G weights and more in 16 bits: up to three times their bytes on the fastest memory."""
    for deployment, pace in SERVED:
        if deployment.kernel.family != "dense" or deployment.checkpoint.parameters < 5e9:
            continue
        checkpoint = deployment.checkpoint
        if checkpoint.experts:
            continue
        read = (checkpoint.linear_bytes + checkpoint.lm_head_bytes) / (deployment.device.bandwidth_gb_s * 1e9)
        assert pace.decode[1] < 3 * read


def scaled(device: Device, bandwidth: float = 1.0, peaks: float = 1.0) -> Device:
    def times(figure: Figure, factor: float) -> Figure:
        return replace(figure, value=figure.value * factor)

    faster = {name: times(figure, peaks) for name, figure in device.peaks.items()}
    return replace(device, bandwidth=times(device.bandwidth, bandwidth), peaks=faster)


@pytest.mark.parametrize("more", [{"bandwidth": 1.5}, {"peaks": 1.5}])
def test_more_of_anything_is_never_slower(more: Mapping[str, float]) -> None:
    for deployment, before in SERVED:
        if deployment.checkpoint.experts and deployment.device.name not in ("L40S", "H200"):
            continue
        faster = replace(deployment, device=scaled(deployment.device, **more))
        after = pace_of(faster, CONSTANTS)
        for table in ("decode", "mixed", "head"):
            assert np.all(np.array(getattr(after, table)) <= np.array(getattr(before, table)) * (1 + 1e-9))
        assert after.per_kv_token <= before.per_kv_token
        assert after.per_attended_pair <= before.per_attended_pair


def test_more_tokens_and_more_requests_never_take_less() -> None:
    for _, pace in SERVED:
        for table in (pace.decode, pace.mixed, pace.head):
            assert np.all(np.diff(np.array(table)) >= -1e-12)


@pytest.mark.parametrize("gpu", ["L40S", "A100 80GB SXM", "H100 SXM"])
def test_more_gpus_hold_more_and_take_less_of_a_large_model(gpu: str) -> None:
    """Of 72B in 4 bits, decode and prefill both; links of PCIe cost more than those of NVLink, and are not free."""
    found = [placed("qwen2.5-72b", "w4a16", gpu, tensor_parallel_size=gpus) for gpus in (2, 4, 8)]
    paces = [pace_of(each, CONSTANTS) for each in found]
    for few, many in pairwise(paces):
        assert few.decode[1] / 2 < many.decode[1] < few.decode[1]
    tokens = [room_of(each, CONSTANTS).kv_cache_tokens for each in found]
    assert tokens == sorted(set(tokens))


def test_links_without_nvlink_are_slower() -> None:
    """The same step on two H100s of either kind, for what the all-reduces of 4,096 tokens add to half of the work."""

    def added(gpu: str) -> float:
        alone, pair = (
            placed("llama-3.1-8b", "bf16", gpu, tensor_parallel_size=gpus, max_num_batched_tokens=4096)
            for gpus in (1, 2)
        )
        return pace_of(pair, CONSTANTS).mixed[4096] - pace_of(alone, CONSTANTS).mixed[4096] / 2

    assert added("H100 PCIe") > 4 * added("H100 SXM") > 0


def test_a_narrow_kv_cache_holds_twice_the_tokens_and_reads_half() -> None:
    wide, narrow = (placed("llama-3.1-8b", "bf16", "L40S", kv_cache_dtype=kind) for kind in ("auto", "fp8"))
    tokens = [room_of(each, CONSTANTS).kv_cache_tokens for each in (wide, narrow)]
    assert tokens[1] == pytest.approx(2 * tokens[0], rel=1e-3)
    assert pace_of(narrow, CONSTANTS).per_kv_token == pytest.approx(pace_of(wide, CONSTANTS).per_kv_token / 2)


def test_a_lone_token_reads_the_experts_that_it_met_and_a_crowd_reads_all() -> None:
    """30B-A3B in BF16 on an H200: 3.3 G weights a token are 1.4 ms of its memory, all 30.5 G 12.7 ms; 64 meet 98 %."""
    pace = pace_of(placed("qwen3-30b-a3b", "bf16", "H200"), CONSTANTS)
    assert 0.0014 < pace.decode[1] < 0.010
    assert pace.decode[64] > 0.0127 * (1 - (1 - 8 / 128) ** 64)


def _folder(path: Path, config: Mapping[str, Any]) -> str:
    path.mkdir()
    (path / "config.json").write_text(json.dumps(config))
    return str(path)


MLA = {
    "model_type": "deepseek_v2",
    "num_hidden_layers": 27,
    "hidden_size": 2048,
    "intermediate_size": 10944,
    "moe_intermediate_size": 1408,
    "num_attention_heads": 16,
    "num_key_value_heads": 16,
    "n_routed_experts": 64,
    "n_shared_experts": 2,
    "num_experts_per_tok": 6,
    "first_k_dense_replace": 1,
    "kv_lora_rank": 512,
    "q_lora_rank": None,
    "qk_rope_head_dim": 64,
    "qk_nope_head_dim": 128,
    "v_head_dim": 128,
    "vocab_size": 102400,
    "torch_dtype": "bfloat16",
}
"""DeepSeek-V2-Lite's sizes."""


def test_a_latent_kv_cache_is_held_whole_by_every_gpu(tmp_path: Path) -> None:
    """A token leaves (512 + 64) x 27 numbers; under tensor parallel each GPU keeps all of them."""
    model = _folder(tmp_path / "lite", MLA)
    alone, four = (placed(model, "bf16", "H100 SXM", tensor_parallel_size=gpus) for gpus in (1, 4))
    assert alone.kv_bytes_per_token == four.kv_bytes_per_token == 2 * 576 * 27
    assert pace_of(four, CONSTANTS).decode[1] < pace_of(alone, CONSTANTS).decode[1]


@pytest.mark.parametrize("left_out", ["hidden_size", "num_hidden_layers", "vocab_size", "num_attention_heads"])
def test_a_config_that_lacks_a_size_is_refused(tmp_path: Path, left_out: str) -> None:
    config = {key: value for key, value in MLA.items() if key != left_out}
    with pytest.raises(BadInput) as refused:
        placed(_folder(tmp_path / "cut", config), "bf16", "L4")
    assert refused.value.code == "checkpoint_shape_unknown"
    assert left_out in refused.value.what


def test_a_family_whose_layers_are_of_another_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="gpt2"):
        placed(_folder(tmp_path / "other", MLA | {"model_type": "gpt2"}), "bf16", "L4")


@pytest.mark.parametrize(
    ("model", "form", "gpu", "gpus", "guessed"),
    [
        ("llama-3.1-8b", "bf16", "A100 80GB SXM", 1, set()),
        ("qwen3-30b-a3b", "bf16", "H200", 1, {"experts.memory", "experts.math", "experts.layer_us"}),
        ("llama-3.1-8b", "bf16", "L40S", 2, {"link.pcie.start_us", "link.pcie.share"}),
        ("llama-3.1-8b", "bf16", "H100 SXM", 2, {"link.nvlink.share"}),
        (
            "llama-3.1-8b",
            "w8a8-int8",
            "H100 SXM",
            1,
            {"kernel.cutlass_int8.hopper.memory", "kernel.cutlass_int8.hopper.math"},
        ),
    ],
)
def test_what_no_table_covers_is_said(model: str, form: WeightFormat, gpu: str, gpus: int, guessed: set[str]) -> None:
    said = grounds(placed(model, form, gpu, tensor_parallel_size=gpus), CONSTANTS)
    told = said.partition("no table for ")[2]
    assert set(told.split(", ") if told else ()) == guessed
