"""Terms of a step, worked out by hand."""

from itertools import pairwise

import pytest

from whichbits.predict.constants import Constant, Constants, default_constants
from whichbits.predict.deployment.deployment import Deployment
from whichbits.predict.deployment.step_time import pace_of
from whichbits.study.arm import Arm, WeightFormat

QWEN_LINEAR = 28 * (3584 * 4608 + 3584 * 3584 + 3 * 3584 * 18944)
"""Weights of the linear layers of Qwen2.5-7B: queries with keys and values, output, gate with up, down."""
QWEN_BIAS_BYTES = 28 * 4608 * 2
QWEN_HEAD = 152_064 * 3584


def deployment(weight_format: WeightFormat = "fp16", gpu: str = "H200") -> Deployment:
    arm = Arm(weight_format=weight_format, model="qwen2.5-7b")
    return Deployment.of(arm, gpu, "0.25.1")


def bare(**given: float) -> Constants:
    """Return constants under which only what is given costs time: nothing is fixed, all else is perfect."""
    cells = {}
    for name, cell in default_constants().cells.items():
        value = 1e-12 if name.endswith("_us") else 1e12 if name.endswith((".math", "math_hopper")) else 1.0
        cells[name] = Constant(given.get(name.replace(".", "_"), value), cell.sigma, cell.source)
    cells["layer.small_memory"] = Constant(1e12, 0, "")
    return Constants(cells)


def test_one_token_reads_all_weights_and_the_head_once() -> None:
    decode = pace_of(deployment(), bare()).decode[1]
    logits = 152_064 * 12 / 4.8e12
    assert decode == pytest.approx((2 * (QWEN_LINEAR + QWEN_HEAD) + QWEN_BIAS_BYTES) / 4.8e12 + logits, rel=1e-6)


def test_eight_bits_halve_the_layers_and_not_the_head() -> None:
    wide, narrow = (pace_of(deployment(form), bare()).decode[1] for form in ("fp16", "w8a8-fp8"))
    scales = 28 * (4608 + 3584 + 2 * 18944 + 3584) * 2
    saved = QWEN_LINEAR / 4.8e12 - scales / 4.8e12
    assert wide - narrow == pytest.approx(saved, rel=0.01)


def test_a_large_step_is_bound_by_arithmetic() -> None:
    constants = bare(kernel_dense_hopper_math=0.5)
    pace = pace_of(deployment(), constants)
    assert pace.mixed[8192] == pytest.approx(2 * QWEN_LINEAR * 8192 / (0.5 * 989e12), rel=0.01)


def test_the_kv_cache_costs_its_bytes() -> None:
    assert pace_of(deployment(), bare()).per_kv_token == pytest.approx(57_344 / 4.8e12)


def test_a_pair_of_prefill_costs_its_products() -> None:
    constants = bare(attention_prefill_math_hopper=1.0)
    assert pace_of(deployment(), constants).per_attended_pair == pytest.approx(4 * 28 * 28 * 128 / 989e12)


def test_steps_with_a_prefill_are_launched_layer_by_layer() -> None:
    pace = pace_of(deployment(), bare(layer_pieces_us=1000.0, host_slowness=1.0))
    assert pace.mixed[1] == pytest.approx(28e-3, rel=0.01)
    assert pace.decode[1] < 28e-3


def test_four_bits_are_read_at_the_pace_of_unpacking_whatever_the_memory() -> None:
    """H100 SXM and H200 have the same SMs: 0.001 bytes a FLOP of 989 TFLOPS is 0.989 TB/s on both."""
    constants = bare(kernel_machete_hopper_unpack=0.001)
    rests = [
        pace_of(deployment("w4a16", gpu), constants).decode[1] - (2 * QWEN_HEAD + 152_064 * 12) / (bandwidth * 1e9)
        for gpu, bandwidth in (("H200", 4800), ("H100 SXM", 3350))
    ]
    assert rests[0] == pytest.approx(rests[1], rel=1e-3)
    assert rests[0] == pytest.approx(QWEN_LINEAR * (0.5 + 2 / 128) / 0.989e12, rel=0.02)


def test_without_graphs_the_host_sets_the_pace_of_small_models() -> None:
    arm = Arm(weight_format="bf16", model="qwen2.5-0.5b", enforce_eager=True)
    eager = pace_of(Deployment.of(arm, "H200", "0.25.1"), default_constants()).decode[1]
    graphs = pace_of(
        Deployment.of(arm.model_copy(update={"enforce_eager": False}), "H200", "0.25.1"), default_constants()
    )
    assert eager > 24 * 250e-6
    assert graphs.decode[1] < 0.003


def test_fewer_bits_do_not_help_the_smallest_models_at_batch_1() -> None:
    """Qwen's own table, A100, vLLM 0.6.3: 0.5B 312 tokens/s in BF16 and 261 in 4 bits, 7B 84 and 154."""

    def seconds(model: str, form: WeightFormat) -> float:
        arm = Arm(weight_format=form, model=f"{model}-gptq")
        return pace_of(Deployment.of(arm, "A100 80GB SXM", "0.6.3"), default_constants()).decode[1]

    assert seconds("qwen2.5-0.5b", "bf16") < seconds("qwen2.5-0.5b", "w4a16")
    assert seconds("qwen2.5-7b", "bf16") > 1.5 * seconds("qwen2.5-7b", "w4a16")


def test_more_tokens_never_take_less_time() -> None:
    for form in ("fp16", "w8a8-fp8", "w4a16"):
        mixed = pace_of(deployment(form, "L4"), default_constants()).mixed
        assert all(after >= before for before, after in pairwise(mixed))


def test_every_constant_is_positive_and_says_where_it_is_from() -> None:
    for name, cell in default_constants().cells.items():
        assert cell.value > 0, name
        assert cell.sigma >= 0, name
        assert cell.source, name


def test_draws_cover_a_constants_spread_evenly() -> None:
    """Of 10 draws, each tenth of the distribution has one, and their middle is the best value."""
    draws = default_constants().draws(10, seed=3)
    drawn = sorted(draw["kernel.marlin.ada.math"] for draw in draws)
    best = default_constants().cells["kernel.marlin.ada.math"]
    assert drawn[4] < best.value < drawn[5]
    assert drawn[-1] / best.value == pytest.approx(best.value / drawn[0])
    assert [draw["kernel.marlin.ada.math"] for draw in default_constants().draws(10, seed=3)] == [
        draw["kernel.marlin.ada.math"] for draw in draws
    ]


def test_the_legacy_awq_kernel_widens_its_weights_from_256_tokens_on() -> None:
    """Qwen2.5-7B on an A100: a large step takes what it takes in 16 bits and what writing them takes."""
    arm = Arm(weight_format="w4a16", model="qwen2.5-7b-awq", quantization="awq", max_num_seqs=512)
    wide = Arm(weight_format="bf16", model="qwen2.5-7b", max_num_seqs=512)
    awq, bf16 = (pace_of(Deployment.of(each, "A100 80GB SXM", "0.9.2"), default_constants()) for each in (arm, wide))
    written = QWEN_LINEAR * (2 + 0.5 + 2 / 128 + 1 / 256) / (2039e9 * 0.83)
    assert awq.mixed[2048] - bf16.mixed[2048] == pytest.approx(written, rel=0.25)
