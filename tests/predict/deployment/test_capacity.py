"""KV caches against what engines' logs said, and room by hand."""

from typing import Any

import pytest

from tests.predict.field_reports import A100_KV_TOKENS, H200_ARMS, H200_KV_TOKENS, L4_KV_TOKENS
from tests.predict.studies import SEED_A100, SEED_L4
from whichbits.errors import BadInput
from whichbits.predict.constants import default_constants
from whichbits.predict.deployment.capacity import room_of
from whichbits.predict.deployment.deployment import Deployment
from whichbits.predict.run import deployments
from whichbits.study.arm import Arm


@pytest.mark.parametrize("arm", L4_KV_TOKENS)
def test_l4_within_three_percent_of_its_logs(arm: str) -> None:
    room = room_of(deployments(SEED_L4)[arm], default_constants())
    assert room.kv_cache_tokens == pytest.approx(L4_KV_TOKENS[arm], rel=0.03)


@pytest.mark.parametrize("arm", A100_KV_TOKENS)
def test_a100_within_one_percent_of_its_logs(arm: str) -> None:
    room = room_of(deployments(SEED_A100)[arm], default_constants())
    assert room.kv_cache_tokens == pytest.approx(A100_KV_TOKENS[arm], rel=0.01)


def test_h200_within_one_percent_of_its_log() -> None:
    room = room_of(Deployment.of(H200_ARMS["fp16"], "H200", "0.25.1"), default_constants())
    assert room.kv_cache_tokens == pytest.approx(H200_KV_TOKENS["fp16"], rel=0.01)


def test_the_parts_make_up_the_budget() -> None:
    room = room_of(deployments(SEED_L4)["fp16"], default_constants())
    assert room.budget_gib == pytest.approx(22.03 * 0.92)
    parts = room.weights_gib + room.activation_gib + room.beside_torch_gib + room.graphs_gib + room.kv_cache_gib
    assert parts == pytest.approx(room.budget_gib)
    assert room.kv_cache_tokens == int(room.kv_cache_gib * 2**30 / 57_344 / 16) * 16
    assert room.blocks(16) == room.kv_cache_tokens // 16 - 1


def test_graphs_take_their_memory_from_the_cache_since_0_21_but_not_in_0_25() -> None:
    def tokens(version: str, *, eager: bool) -> int:
        arm = Arm(weight_format="fp16", model="qwen2.5-7b", enforce_eager=eager, gpu_memory_utilization=0.9)
        return room_of(Deployment.of(arm, "L4", version), default_constants()).kv_cache_tokens

    assert tokens("0.27.1", eager=False) < tokens("0.27.1", eager=True)
    assert tokens("0.11.0", eager=False) == tokens("0.11.0", eager=True)
    assert tokens("0.25.1", eager=False) == tokens("0.25.1", eager=True)


def test_a_model_that_does_not_fit_says_so() -> None:
    deployment = Deployment.of(Arm(weight_format="bf16", model="qwen3-14b"), "L4", None)
    with pytest.raises(BadInput, match=r"27\.5 GiB of weights"):
        room_of(deployment, default_constants())


def test_an_override_of_blocks_is_taken() -> None:
    arm = Arm(weight_format="bf16", model="qwen3-8b", options={"num_gpu_blocks_override": 1000})
    assert room_of(Deployment.of(arm, "H200", None), default_constants()).kv_cache_tokens == 16_000


def test_a_cache_of_a_given_size_takes_it_whatever_share_is_allowed() -> None:
    """57,344 bytes a token: 14 GiB are 262,144 tokens."""
    arm = Arm(weight_format="fp16", model="qwen2.5-7b", kv_cache_gib=14, gpu_memory_utilization=0.1)
    assert room_of(Deployment.of(arm, "H200", "0.25.1"), default_constants()).kv_cache_tokens == 262_144


def test_a_cache_of_a_given_size_that_the_card_has_no_room_for_says_so() -> None:
    arm = Arm(weight_format="fp16", model="qwen2.5-7b", kv_cache_gib=14)
    with pytest.raises(BadInput, match="leaves no KV cache"):
        room_of(Deployment.of(arm, "L4", "0.25.1"), default_constants())


def on_one_gpu(**settings: Any) -> Deployment:
    arm = Arm(weight_format="bf16", model="qwen3-14b", max_model_len=4096, replicas=2, **settings)
    return Deployment.of(arm, "H200", "0.25.1")


def test_replicas_that_would_take_more_than_their_gpu_has_are_refused_with_what_fits() -> None:
    with pytest.raises(BadInput, match="2 replicas share a H200 and each takes") as refused:
        room_of(on_one_gpu(gpus=(0, 0), gpu_memory_utilization=0.9), default_constants())
    assert "0.5 or less" in (refused.value.fix or "")

    alone = room_of(on_one_gpu(gpus=(0, 1), gpu_memory_utilization=0.5), default_constants())
    assert room_of(on_one_gpu(gpus=(0, 0), gpu_memory_utilization=0.5), default_constants()) == alone


def test_a_given_cache_must_fit_beside_that_of_the_others_on_the_gpu() -> None:
    assert room_of(on_one_gpu(gpus=(0, 1), kv_cache_gib=60), default_constants()).kv_cache_gib == 60
    assert room_of(on_one_gpu(gpus=(0, 0), kv_cache_gib=30), default_constants()).kv_cache_gib == 30
    with pytest.raises(BadInput, match="no KV cache"):
        room_of(on_one_gpu(gpus=(0, 0), kv_cache_gib=60), default_constants())


@pytest.mark.parametrize(
    ("gpus", "replicas", "tensor_parallel", "placing"),
    [
        (None, 2, 1, None),
        ((0, 1), 2, 1, None),
        ((0, 0), 2, 1, ((0,), (0,))),
        (0, 3, 1, ((0,), (0,), (0,))),
        ((0, 1), 2, 2, ((0, 1), (0, 1))),
        ((0, 1), 1, 2, None),
    ],
)
def test_which_replicas_share_follows_from_the_gpus_that_a_start_would_give_them(
    gpus: Any, replicas: int, tensor_parallel: int, placing: Any
) -> None:
    arm = Arm(
        weight_format="bf16", model="qwen3-14b", gpus=gpus, replicas=replicas, tensor_parallel_size=tensor_parallel
    )
    assert Deployment.of(arm, "H200", "0.25.1").placing == placing
