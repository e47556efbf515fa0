"""A window's times, worked out by hand from a few kernels."""

import random
from pathlib import Path

import pytest

from tests.analyze.kernels.write_trace import call, kernel, operation, step, write_trace
from whichbits.analyze.kernels.kernel_time import Gaps, HostTime, KernelTime, StepTime
from whichbits.analyze.kernels.window import kernel_time

MARLIN = "void marlin::Marlin<1125899906910725l, 562949953487106l>(int4 const*)"
FLASH = "void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<...> > >(...)"
MYSTERY = "void zorp::frobnicate<float>(float*)"


def read(*paths: Path) -> KernelTime:
    found = kernel_time(paths)
    assert found is not None
    return found


def test_kinds_gaps_and_unknown_names_add_up_to_the_window(tmp_path: Path) -> None:
    """100 us window: 50 GEMM, 20 attention, 10 of an unknown name, gaps of 5 and 15."""
    events = [
        kernel(MYSTERY, 1090, 10),
        kernel(MARLIN, 1000, 50),
        kernel(FLASH, 1055, 20),
    ]
    random.Random(1).shuffle(events)  # streams are written one after the other
    found = read(write_trace(tmp_path / "t.json", events))

    assert {kind.kind: (kind.ms, kind.share, kind.launches) for kind in found.kinds} == {
        "gemm": (0.05, 0.5, 1),
        "attention": (0.02, 0.2, 1),
        "other": (0.01, 0.1, 1),
    }
    assert (found.window_ms, found.busy_ms, found.overlap_ms) == pytest.approx((0.1, 0.08, 0.0))
    assert found.gaps == Gaps(n=2, ms=0.02, share=0.2, long_ms=0.0, longest_ms=0.015)
    assert [(each.name, each.share) for each in found.unknown] == [(MYSTERY, 0.1)]
    assert (found.basis, found.devices, found.device_names) == ("kernels", 1, ("NVIDIA L4",))


def test_streams_that_overlap_are_busy_once(tmp_path: Path) -> None:
    """30 us of communication run under 40 us of GEMM, 20 of them at the same time; then 100 us of nothing."""
    events = [
        kernel("nvjet_tst_64x8", 0, 40),
        kernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(x)", 20, 30, stream=9),
        kernel("Memset (Device)", 150, 10, category="gpu_memset"),
    ]
    found = read(write_trace(tmp_path / "t.json.gz", events))

    assert (found.window_ms, found.busy_ms, found.overlap_ms) == pytest.approx((0.16, 0.06, 0.02))
    assert (found.gaps.ms, found.gaps.long_ms, found.gaps.n) == pytest.approx((0.1, 0.1, 1))
    communication = found.kind("communication")
    assert communication is not None
    assert communication.ms == pytest.approx(0.03)


def test_ranks_are_averaged(tmp_path: Path) -> None:
    first = write_trace(tmp_path / "rank0.json", [kernel(MARLIN, 0, 100)])
    second = write_trace(tmp_path / "rank1.json", [kernel(MARLIN, 0, 20, device=1), kernel(FLASH, 80, 20, device=1)])
    found = read(first, second)

    assert found.devices == 2
    assert found.window_ms == pytest.approx(0.1)
    assert [kind.kind for kind in found.kinds] == ["gemm", "attention"]
    assert [kind.ms for kind in found.kinds] == pytest.approx([0.06, 0.01])
    assert [kind.share for kind in found.kinds] == pytest.approx([0.6, 0.1])
    assert found.gaps.share == pytest.approx(0.3)


def test_steps_with_prefill_stand_apart_from_those_without(tmp_path: Path) -> None:
    events = [
        step(0, 0, 30),
        kernel(MARLIN, 0, 20),
        kernel(FLASH, 20, 10),
        step(0, 40, 50),
        kernel(MARLIN, 40, 40),
        kernel(FLASH, 80, 10),
        step(2, 100, 200),
        kernel(MARLIN, 100, 200),
        kernel(MARLIN, 301, 7),  # behind the mark, as the last projection is: of the step before
        step(0, 0, 2, stream=20),  # the same step, marked on the stream of its copies
        kernel("Memcpy HtoD (Pinned -> Device)", 0, 2, stream=20, category="gpu_memcpy"),
    ]
    found = read(write_trace(tmp_path / "t.json", events))

    assert found.steps == (
        StepTime(with_prefill=False, n=2, mean_ms=0.04, kinds={"gemm": 0.03, "attention": 0.01, "copy": 0.001}),
        StepTime(with_prefill=True, n=1, mean_ms=0.208, kinds={"gemm": 0.207}),
    )


def test_what_follows_a_steps_mark_is_of_that_step_and_what_comes_before_all_marks_of_none(tmp_path: Path) -> None:
    """As in vLLM 0.25.1: the mark ends with the last layer; the last projection and the sampler run behind it."""
    events = [
        kernel(MARLIN, 0, 5),
        step(0, 10, 20),
        kernel(MARLIN, 10, 20),
        kernel("nvjet_sm90_hsh_384x8_64x4_2x1_v_bz_TNT", 31, 4),
        kernel("_gumbel_sample_kernel", 35, 1),
        step(1, 40, 30),
        kernel(MARLIN, 40, 30),
        kernel("nvjet_sm90_hsh_384x8_64x4_2x1_v_bz_TNT", 72, 4),
    ]
    found = read(write_trace(tmp_path / "t.json", events))

    assert found.steps == (
        StepTime(with_prefill=False, n=1, mean_ms=0.026, kinds={"gemm": 0.024, "sampling": 0.001}),
        StepTime(with_prefill=True, n=1, mean_ms=0.036, kinds={"gemm": 0.034}),
    )


def test_the_hosts_launches_and_waits_are_counted(tmp_path: Path) -> None:
    events = [
        kernel(MARLIN, 0, 10),
        call("cudaLaunchKernelExC", 0, 4),
        call("cudaGraphLaunch", 5, 2),
        call("cudaEventSynchronize", 8, 9),
        call("cudaMemcpyAsync", 20, 3),
    ]
    found = read(write_trace(tmp_path / "t.json", events))

    assert found.host == HostTime(launches=2, launch_ms=0.006, waits=1, wait_ms=0.009)


def test_a_processors_operations_count_what_they_do_themselves(tmp_path: Path) -> None:
    """aten::linear of 100 us holds onednn's 80; a busier thread decides, and its gaps are the host's own code."""
    events = [
        step(0, 0, 110, "user_annotation"),
        operation("aten::linear", 0, 100),
        operation("_C::onednn_mm", 10, 80),
        operation("_C::cpu_attention_with_kv_cache", 150, 50),
        operation("aten::add", 0, 10, thread=2),
    ]
    found = read(write_trace(tmp_path / "t.json", events, vllm_version="0.32.0"))

    assert (found.basis, found.devices, found.host, found.engine_version) == ("operations", 0, None, "0.32.0")
    gemm, attention = found.kinds
    assert [(each.family, each.ms) for each in gemm.families] == [("onednn", 0.08), ("aten", 0.02)]
    assert (attention.kind, attention.share) == ("attention", 0.25)
    assert (found.window_ms, found.gaps.share) == pytest.approx((0.2, 0.25))
    assert found.steps == (StepTime(with_prefill=False, n=1, mean_ms=0.2, kinds={"gemm": 0.1, "attention": 0.05}),)


def test_a_trace_without_timed_work_is_none(tmp_path: Path) -> None:
    assert kernel_time([write_trace(tmp_path / "t.json", [call("cudaLaunchKernel", 0, 1)])]) is None
    assert kernel_time([]) is None
