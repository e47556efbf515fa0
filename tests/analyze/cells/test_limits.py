"""Rooflines and capacities of whole runs, from what engines and checkpoints said."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.checkpoint.configs import GPTQ_INT4, QWEN25_7B
from tests.record.make_run import SyntheticArm, make_run, manifest
from whichbits.analyze.cells.limits import arm_capacity, cell_roofline
from whichbits.analyze.summarize import summarize
from whichbits.analyze.summary import Summary
from whichbits.checkpoint.facts import Scalar
from whichbits.checkpoint.read import from_config
from whichbits.record.run import Run
from whichbits.record.schema import Fact

SAID: dict[str, Scalar] = {
    "device_name": "NVIDIA L4",
    "model_memory_gib": 5.27,
    "kv_cache_tokens": 269_824,
    "kv_cache_memory_gib": 14.41,
    "max_model_len": 4096,
    "max_num_seqs": 256,
    "dtype": "float16",
}
CHECKPOINT = from_config(QWEN25_7B | {"quantization_config": GPTQ_INT4}).scalars()


def summary_of(parent: Path, **said: str | float | None) -> Summary:
    """A run of one arm whose engine said so: 28 ms a token at every load, prompts of 100 and answers of 11 tokens."""
    known = CHECKPOINT | SAID | said
    facts = {name: Fact(value, "log") for name, value in known.items()}
    arm = SyntheticArm(tpot_ms=lambda _: 28.0, weight_format="w4a16", facts=facts)
    return summarize(Run.load(make_run(parent, {"w4a16": arm}, loads=(1, 32))))


def test_a_cell_stands_under_its_devices_roofline(tmp_path: Path) -> None:
    """At 1: 4.48 GB of weights and 105.5 tokens of KV over 28 ms x 300 GB/s, by hand 53.4 %."""
    low, high = (cell.roofline for cell in summary_of(tmp_path).cells)

    assert low is not None
    assert high is not None
    assert (low.device, low.number_type, low.context_tokens) == ("L4", "fp16", 105.5)
    assert low.loaded is not None
    assert low.read is not None
    assert low.loaded.attained_bandwidth == pytest.approx(5.27 * 2**30 / 0.028 / 300e9, rel=1e-6)
    assert low.read.attained_bandwidth == pytest.approx(0.534, abs=0.0005)
    assert high.read is not None
    assert high.read.intensity > 20 * low.read.intensity


def test_an_arm_has_its_capacity(tmp_path: Path) -> None:
    found = summary_of(tmp_path).arms["w4a16"].capacity

    assert found is not None
    assert found.requests_that_fit == pytest.approx(269_824 / 111)
    assert found.worst_case_requests == pytest.approx(65.875)
    assert (found.offered, found.binds) == (32, "load")
    assert found.kv_bytes_per_token == pytest.approx(57_344, rel=0.001)


@pytest.mark.parametrize(
    ("said", "per_token"),
    [
        ({"kv_cache_tokens": 100_000}, 57_344),  # blocks overridden: 14.41 GiB / 100,000 would be 154,726
        ({"kv_cache_dtype": "fp8_e4m3"}, 28_672),
        ({"kv_cache_dtype": "auto", "dtype": "float32"}, 114_688),
        ({"kv_cache_dtype": "fp8_ds_mla", "kv_cache_tokens": 2**20, "kv_cache_memory_gib": 1.0}, 1_024),
        ({"kv_elements_per_token": None, "kv_cache_tokens": 2**20, "kv_cache_memory_gib": 1.0}, 1_024),
    ],
)
def test_bytes_per_token_are_the_checkpoints(
    tmp_path: Path, said: dict[str, str | float | None], per_token: float
) -> None:
    """28 layers x 2 x 4 heads x 128 x 2 bytes = 57,344; the log's memory only where the shape cannot tell."""
    found = summary_of(tmp_path, **said).arms["w4a16"].capacity

    assert found is not None
    assert found.kv_bytes_per_token == pytest.approx(per_token)


@pytest.mark.parametrize(("gpus", "parts"), [(2, 2), (4, 4), (8, 4)])
def test_a_token_is_spread_no_further_than_its_kv_heads(tmp_path: Path, gpus: int, parts: int) -> None:
    found = summary_of(tmp_path, tensor_parallel_size=gpus, cuda_graph_gib=1.0).arms["w4a16"].capacity

    assert found is not None
    assert found.cuda_graph_tokens == pytest.approx(2**30 / (57_344 / parts))


@pytest.mark.parametrize("device", [None, "NVIDIA GeForce GTX 1080", "Intel(R) Xeon(R) Processor"])
def test_an_unknown_device_has_no_roofline(tmp_path: Path, device: str | None) -> None:
    assert all(cell.roofline is None for cell in summary_of(tmp_path, device_name=device).cells)


def test_an_unknown_pool_has_no_capacity(tmp_path: Path) -> None:
    assert summary_of(tmp_path, kv_cache_tokens=None).arms["w4a16"].capacity is None


def test_without_a_checkpoint_only_the_weights_loaded_are_counted(tmp_path: Path) -> None:
    cell = summary_of(tmp_path, linear_bytes=None).cells[0]

    assert cell.roofline is not None
    assert cell.roofline.loaded is not None
    assert cell.roofline.read is None


def test_replicas_share_the_batch_and_gpus_of_one_share_the_weights(tmp_path: Path) -> None:
    summary = summary_of(tmp_path, tensor_parallel_size=2)
    run = Run.load(next(tmp_path.iterdir()))
    record = run.manifest.arms["w4a16"]
    twice = replace(run.manifest, arms={"w4a16": replace(record, replicas=record.replicas * 2)})
    cell, arm = summary.cells[1], summary.arms["w4a16"]

    found, capacity = cell_roofline(cell, arm, twice), arm_capacity(arm, summary.cells, twice)

    assert found is not None
    assert found.batch == pytest.approx((cell.mean_batch or 0) / 2)
    assert found.bandwidth_gb_s == 600
    assert found.loaded is not None
    assert found.loaded.step_bytes == 2 * 5.27 * 2**30
    assert capacity is not None
    assert capacity.offered == 16


def test_prefixes_of_the_traffic_make_a_working_set(tmp_path: Path) -> None:
    summary = summary_of(tmp_path)
    traffic = {"kind": "prefix_repetition", "prefixes": 160, "prefix_tokens": 3072}

    found = arm_capacity(summary.arms["w4a16"], summary.cells, replace(manifest(), study={"traffic": traffic}))

    assert found is not None
    assert found.prefix_working_set_tokens == 491_520


def test_the_host_names_the_device_where_the_engine_does_not(tmp_path: Path) -> None:
    summary = summary_of(tmp_path, device_name=None)
    known = replace(manifest(), host={"device_name": "Tesla T4"})

    found = cell_roofline(summary.cells[0], summary.arms["w4a16"], known)

    assert found is not None
    assert found.device == "T4"
