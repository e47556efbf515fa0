"""The roofline on sizes that fit on paper."""

from dataclasses import replace

import pytest

from tests.checkpoint.configs import QWEN25_7B
from whichbits.analyze.limits.decode_work import DecodeWork, kv_element_bytes
from whichbits.analyze.limits.roofline import Ceiling, Model, Step, number_type, roofline
from whichbits.checkpoint.read import from_config
from whichbits.hardware.devices import find_device

WORK = DecodeWork(
    parameters=1_200,
    linear_parameters=1_000,
    linear_bytes=500,
    lm_head_parameters=100,
    lm_head_bytes=200,
    other_bytes=20,
    embedding_bytes=200,
    vocabulary=50,
    kv_elements_per_token=8,
    attention_flops_per_context_token=16,
)
"""4 bits a linear weight, 16 elsewhere; an embedding row has 4 bytes."""
CEILING = Ceiling("paper", "int8", flops=4e6, wide_flops=2e6, bandwidth=1e6)
STEP = Step(ms=2.0, batch=2.0, context_tokens=10.0)
MIXTURE = replace(WORK, expert_parameters=800, expert_bytes=400, experts=8, experts_per_token=2)


def test_bytes_and_flops_of_a_step() -> None:
    found = roofline(CEILING, STEP, Model(work=WORK)).read

    assert found is not None
    assert found.step_bytes == (500 + 200 + 20 + 2 * 4) + 2 * 10 * 8 * 2
    assert found.step_flops == 2 * 2 * 1000 + 2 * (2 * 100 + 16 * 10)
    assert found.effective_gb_s == pytest.approx(1048 / 0.002 / 1e9)
    assert found.attained_bandwidth == pytest.approx(0.524)
    assert found.compute_utilization == pytest.approx(4720 / 0.002 / 4e6)
    assert found.intensity == pytest.approx(4720 / 1048)
    assert found.floor_tpot_ms == pytest.approx(1.048)


def test_where_a_steps_time_goes() -> None:
    split = roofline(CEILING, STEP, Model(work=WORK)).split_ms

    assert split is not None
    assert [split.weights, split.kv_cache] == pytest.approx([0.728, 0.32])
    assert split.arithmetic == pytest.approx(4000 / 4e6 * 1e3 + 720 / 2e6 * 1e3)
    assert split.left_over == pytest.approx(2.0 - 1.36), "arithmetic takes longer than the reads, which hide in it"


def test_the_weights_loaded_count_two_flops_a_parameter() -> None:
    found = roofline(CEILING, STEP, Model(loaded_bytes=1000, parameters=1200)).loaded

    assert found is not None
    assert (found.step_bytes, found.step_flops) == (1000, 4800)
    assert found.attained_bandwidth == pytest.approx(0.5)


def test_what_is_not_known_is_not_counted() -> None:
    found = roofline(CEILING, replace(STEP, context_tokens=None), Model(loaded_bytes=1000, work=WORK))

    assert (found.loaded, found.read, found.split_ms) == (None, None, None)
    assert found.ridge == 4


def test_only_experts_that_somebody_chose_are_read() -> None:
    """Two of eight a token: one request reads a quarter of them, two requests 1 - (3/4)^2 = 7/16."""
    dense = 100 + 200 + 20

    assert MIXTURE.weight_bytes(1) == pytest.approx(dense + 400 / 4 + 4)
    assert MIXTURE.weight_bytes(2) == pytest.approx(dense + 400 * 7 / 16 + 8)
    assert MIXTURE.linear_flops(3) == 2 * 3 * (200 + 800 / 4)


def test_gpus_of_one_replica_add_up() -> None:
    one, two = (Ceiling.of(find_device("H100"), "fp8", gpus) for gpus in (1, 2))

    assert (two.flops, two.wide_flops, two.bandwidth) == (2 * one.flops, 2 * one.wide_flops, 2 * one.bandwidth)
    assert one.flops == 2 * one.wide_flops


@pytest.mark.parametrize(
    ("weight_format", "device", "dtype", "expected"),
    [
        ("w8a8-fp8", "L4", "bfloat16", "fp8"),
        ("w8a8-fp8", "A100 80GB SXM", "bfloat16", "bf16"),
        ("w8a8-int8", "T4", "float16", "int8"),
        ("w4a16", "L4", "float16", "fp16"),
        ("w4a16", "L4", "bfloat16", "bf16"),
        ("bf16", "H200", None, "bf16"),
        ("bf16", "T4", "bfloat16", "fp16"),
    ],
)
def test_operands_are_what_the_device_can_multiply(
    weight_format: str, device: str, dtype: str | None, expected: str
) -> None:
    assert number_type(weight_format, find_device(device), dtype) == expected


def test_work_can_be_taken_from_facts_and_from_a_checkpoint_alike() -> None:
    checkpoint = from_config(QWEN25_7B)

    assert DecodeWork.of_facts(checkpoint.scalars()) == DecodeWork.of_checkpoint(checkpoint)
    assert DecodeWork.of_facts({"parameters": 7_000_000_000}) is None


@pytest.mark.parametrize(("named", "size"), [("auto", 2), (None, 2), ("bfloat16", 2), ("fp8_e5m2", 1), ("u8", 1)])
def test_kv_element_bytes(named: str | None, size: int) -> None:
    assert kv_element_bytes(named) == size
