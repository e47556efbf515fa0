"""A field report's derived figures from its raw inputs: Qwen2.5-7B in three formats on one L4, vLLM with eager.

Raw are the server log (GiB loaded, KV tokens), the device's peaks, and the benchmark's throughputs and times. Where the
report's own figure differs from what its inputs give, the test says so and asserts the right one.
"""

import pytest

from tests.checkpoint.configs import FP8_DYNAMIC, GPTQ_INT4, QWEN25_7B
from whichbits.analyze.latency.throughput import mean_batch
from whichbits.analyze.limits.capacity import Capacity, Demand, Pool, capacity
from whichbits.analyze.limits.decode_work import DecodeWork
from whichbits.analyze.limits.roofline import Ceiling, Model, Roofline, Step, roofline
from whichbits.checkpoint.read import from_config
from whichbits.hardware.devices import find_device

GIB = 2**30
L4 = Ceiling.of(find_device("NVIDIA L4"), "fp16")
PARAMETERS = 7.62e9
"""As the report counts: its intensities come out with 7.62 billion, not with the exact 7,615,616,512."""
LOADED_GIB = {"fp16": 14.29, "w8a8": 8.18, "w4a16": 5.27}
KV_TOKENS = {"fp16": 102_288, "w8a8": 213_424, "w4a16": 269_824}
KV_GIB = {"fp16": 5.46, "w8a8": 11.4, "w4a16": 14.41}
TPOT_MS = {
    "fp16": {1: 57.03, 10: 60.68, 100: 97.72},
    "w8a8": {1: 34.91, 10: 37.27, 100: 66.52},
    "w4a16": {1: 27.79, 10: 30.04, 100: 75.05},
}
TOKENS_PER_S = {("fp16", 1): 17.46, ("fp16", 10): 136.95, ("fp16", 100): 642.29}
TOKENS_PER_S |= {("w8a8", 100): 963.60, ("w4a16", 100): 1044.93}
PROMPT, ANSWER = 218, 220
DECLARED = {"fp16": None, "w8a8": FP8_DYNAMIC, "w4a16": GPTQ_INT4}


def batch(arm: str, load: int) -> float:
    found = mean_batch(TOKENS_PER_S[arm, load], TPOT_MS[arm][load])
    assert found is not None
    return found


def against_l4(arm: str, load: int, parameters: float = PARAMETERS, batch_size: float | None = None) -> Roofline:
    step = Step(TPOT_MS[arm][load], batch(arm, load) if batch_size is None else batch_size)
    return roofline(L4, step, Model(loaded_bytes=LOADED_GIB[arm] * GIB, parameters=parameters))


def pool(arm: str) -> Capacity:
    held = Pool(tokens=KV_TOKENS[arm], memory_gib=KV_GIB[arm], max_model_len=4096)
    return capacity(held, Demand(PROMPT, ANSWER, concurrency=100))


@pytest.mark.parametrize(("load", "expected"), [(1, 1.0), (10, 8.3), (100, 62.8)])
def test_mean_batch_by_little(load: int, expected: float) -> None:
    assert batch("fp16", load) == pytest.approx(expected, abs=0.05)


@pytest.mark.parametrize(("arm", "expected"), [("fp16", 62.8), ("w8a8", 64.1), ("w4a16", 78.4)])
def test_mean_batch_of_the_formats_at_100(arm: str, expected: float) -> None:
    assert batch(arm, 100) == pytest.approx(expected, abs=0.05)


@pytest.mark.parametrize(
    ("arm", "percents"),
    [("fp16", (89.7, 84.3, 52.3)), ("w8a8", (83.9, 78.6, 44.0)), ("w4a16", (67.9, 62.8, 25.1))],
)
def test_attained_bandwidth_by_the_weights_loaded(arm: str, percents: tuple[float, ...]) -> None:
    for load, percent in zip((1, 10, 100), percents, strict=True):
        loaded = against_l4(arm, load, batch_size=1).loaded
        assert loaded is not None
        assert 100 * loaded.attained_bandwidth == pytest.approx(percent, abs=0.051)


@pytest.mark.parametrize(("load", "gb_s", "percent"), [(1, 269, 0.22), (10, 253, 1.72), (100, 157, 8.09)])
def test_effective_bandwidth_and_compute_utilization(load: int, gb_s: float, percent: float) -> None:
    loaded = against_l4("fp16", load).loaded

    assert loaded is not None
    assert loaded.effective_gb_s == pytest.approx(gb_s, abs=0.5)
    assert 100 * loaded.compute_utilization == pytest.approx(percent, abs=0.005)


@pytest.mark.parametrize(
    ("arm", "gigabytes", "floor_ms"), [("fp16", 15.34, 51.1), ("w8a8", 8.78, 29.3), ("w4a16", 5.66, 18.9)]
)
def test_theoretical_tpot(arm: str, gigabytes: float, floor_ms: float) -> None:
    loaded = against_l4(arm, 1, batch_size=1).loaded

    assert loaded is not None
    assert loaded.step_bytes / 1e9 == pytest.approx(gigabytes, abs=0.005)
    assert loaded.floor_tpot_ms == pytest.approx(floor_ms, abs=0.05)


def test_the_ridge_and_how_far_below_it_one_request_is() -> None:
    found = against_l4("fp16", 1, batch_size=1)

    assert found.loaded is not None
    assert found.ridge == pytest.approx(403, abs=0.5)
    assert found.ridge / found.loaded.intensity == pytest.approx(406, abs=0.5)


@pytest.mark.parametrize(
    ("arm", "load", "reported", "exact"),
    [
        ("fp16", 1, 0.99, 0.99),
        ("fp16", 10, 8.3, 8.2),
        ("fp16", 100, 62.3, 62.3),
        ("w8a8", 100, 111.2, 111.2),
        ("w4a16", 100, 211.2, 211.1),
    ],
)
def test_intensity(arm: str, load: int, reported: float, exact: float) -> None:
    """Two cells of the table are right for 7.62 billion parameters only: 8.25 and 211.09 with the exact count.

    And 62.3 FLOP/byte is no misprint of the mean batch 62.8: the intensity is the batch x 15.24 GFLOP / 15.34 GB.
    """
    as_reported = against_l4(arm, load).loaded
    as_counted = against_l4(arm, load, parameters=from_config(QWEN25_7B).parameters).loaded

    assert as_reported is not None
    assert as_counted is not None
    assert round(as_reported.intensity, 2 if load == 1 else 1) == reported
    assert round(as_counted.intensity, 2 if load == 1 else 1) == exact


@pytest.mark.parametrize(("arm", "reported", "at_ten"), [("w8a8", 1.7, 14.4), ("w4a16", 2.7, 21.6)])
def test_intensities_whose_throughput_is_not_given(arm: str, reported: float, at_ten: float) -> None:
    """At 1 the batch is 1. At 10 the report gives no throughput; its table implies batches that ten streams allow."""
    one = against_l4(arm, 1, batch_size=1).loaded

    assert one is not None
    assert one.intensity == pytest.approx(reported, abs=0.05)
    assert 8.0 < at_ten / one.intensity < 8.35


@pytest.mark.parametrize(("arm", "gains"), [("w8a8", (1.63, 1.63, 1.47)), ("w4a16", (2.05, 2.02, 1.30))])
def test_gains_over_fp16(arm: str, gains: tuple[float, ...]) -> None:
    found = [TPOT_MS["fp16"][load] / TPOT_MS[arm][load] for load in (1, 10, 100)]

    assert found == pytest.approx(gains, abs=0.005)


@pytest.mark.parametrize(
    ("before", "after", "times"),
    [(17.46, 136.95, 7.84), (57.03, 60.68, 1.064), (57.03, 97.72, 1.71), (57.25, 531.82, 9.3), (243.28, 3305, 13.6)],
    ids=["throughput 1 to 10", "TPOT 1 to 10", "TPOT 1 to 100", "p99 TPOT", "p99 TTFT"],
)
def test_growth_with_load(before: float, after: float, times: float) -> None:
    digits = len(str(times).partition(".")[2])

    assert round(after / before, digits) == times


def test_requests_that_fit_beside_the_maximum_concurrency_of_the_log() -> None:
    found = pool("fp16")

    assert found.requests_that_fit == pytest.approx(233.5, abs=0.05)
    assert found.worst_case_requests == pytest.approx(24.97, abs=0.005)
    assert found.binds == "load"


@pytest.mark.parametrize("arm", ["fp16", "w8a8", "w4a16"])
def test_no_arm_was_short_of_kv_cache(arm: str) -> None:
    """So the larger cache cannot have made W4A16's batch larger at 100, as the report has it: all three hold 100."""
    found = pool(arm)

    assert found.requests_that_fit is not None
    assert found.requests_that_fit > 100
    assert found.binds == "load"


@pytest.mark.parametrize("arm", ["fp16", "w8a8", "w4a16"])
def test_kv_bytes_per_token_are_those_of_the_shape(arm: str) -> None:
    assert pool(arm).kv_bytes_per_token == pytest.approx(from_config(QWEN25_7B).kv_bytes_per_token(), rel=0.001)


def really_read(arm: str, load: int, batch_size: float) -> Roofline:
    work = DecodeWork.of_checkpoint(from_config(QWEN25_7B | {"quantization_config": DECLARED[arm]}))
    step = Step(TPOT_MS[arm][load], batch_size, context_tokens=PROMPT + ANSWER / 2)
    return roofline(L4, step, Model(work=work))


@pytest.mark.parametrize(("arm", "percent"), [("fp16", 82.8), ("w8a8", 72.9), ("w4a16", 54.0)])
def test_by_bytes_really_read_one_request_attains_less(arm: str, percent: float) -> None:
    """By hand, in GB: linear layers 13.051, 6.528 and 3.390, lm_head 1.090, KV 0.019; over TPOT x 300 GB/s.

    The report's 89.7, 83.9 and 67.9 % count an input embedding of 1.09 GB, of which a step reads one row.
    """
    found = really_read(arm, 1, 1.0)

    assert found.read is not None
    assert 100 * found.read.attained_bandwidth == pytest.approx(percent, abs=0.05)


def test_at_a_hundred_the_kv_cache_makes_up_for_the_embedding() -> None:
    """62.8 requests x 328 tokens x 57,344 bytes = 1.18 GB: by chance both countings give 52 %."""
    found = really_read("fp16", 100, batch("fp16", 100))

    assert found.read is not None
    assert found.split_ms is not None
    assert 100 * found.read.attained_bandwidth == pytest.approx(52.3, abs=0.1)
    assert found.split_ms.kv_cache == pytest.approx(1.18 / 0.3, abs=0.02)


def test_the_nine_milliseconds_of_dequantisation_are_more_and_not_all_dequantisation() -> None:
    """27.79 - 18.86 = 8.9 ms against the weights loaded; 12.8 ms are unexplained by what a step reads.

    FP16, which dequantises nothing, leaves 9.8 ms over by the same account.
    """
    loaded = against_l4("w4a16", 1, batch_size=1).loaded
    w4a16, fp16 = really_read("w4a16", 1, 1.0).split_ms, really_read("fp16", 1, 1.0).split_ms

    assert loaded is not None
    assert w4a16 is not None
    assert fp16 is not None
    assert TPOT_MS["w4a16"][1] - loaded.floor_tpot_ms == pytest.approx(8.9, abs=0.05)
    assert w4a16.left_over == pytest.approx(12.8, abs=0.1)
    assert fp16.left_over == pytest.approx(9.8, abs=0.1)
