"""The finding on kernel time compares arms at one load, and says nothing of loads that were not profiled."""

from pathlib import Path

from tests.analyze.kernels.write_trace import Event, kernel, operation, write_trace
from tests.record.make_run import manifest
from whichbits.analyze.findings.kernels import kernel_times
from whichbits.analyze.findings.observed import Observed
from whichbits.analyze.kernels.profile import Profile
from whichbits.analyze.kernels.window import kernel_time
from whichbits.analyze.summary import Finding

MARLIN, CUBLAS, FLASH = "void marlin::Marlin<1l>(x)", "nvjet_tst_64x8", "void flash::flash_fwd_splitkv_kernel<x>(y)"


def profile(folder: Path, arm: str, events: list[Event], concurrency: int = 64) -> Profile:
    found = kernel_time([write_trace(folder / f"{arm}.json", events)])
    return Profile(arm, concurrency, None, "0", 2.0, (f"profiles/{arm}-c{concurrency}.0.trace.json.gz",), found)


def findings(*profiles: Profile) -> list[Finding]:
    return list(kernel_times(Observed(manifest(), [], profiles=profiles)))


def test_arms_stand_beside_each_other_by_load(tmp_path: Path) -> None:
    narrow = profile(tmp_path, "w4a16", [kernel(MARLIN, 0, 61), kernel(FLASH, 61, 21), kernel("zorp", 99, 1)])
    wide = profile(tmp_path, "fp16", [kernel(CUBLAS, 0, 75), kernel(FLASH, 80, 20)])
    (found,) = findings(narrow, wide)

    assert found.kind == "observed"
    assert found.text.startswith(
        "Under the profiler at c64, w4a16 spent GEMM 61% (marlin), attention 21% (flash attention), gaps 17%; "
        "fp16 spent GEMM 75% (cublas 16 bit), attention 20% (flash attention), gaps 5%."
    )
    assert found.evidence[1] == "profiles/w4a16-c64.0.trace.json.gz"


def test_loads_are_not_mixed(tmp_path: Path) -> None:
    one = profile(tmp_path, "a", [kernel(CUBLAS, 0, 10)], concurrency=1)
    other = profile(tmp_path, "b", [kernel(CUBLAS, 0, 10)], concurrency=64)

    assert [found.text.split(",")[0] for found in findings(one, other)] == [
        "Under the profiler at c1",
        "Under the profiler at c64",
    ]


def test_a_processor_is_not_called_a_gpu(tmp_path: Path) -> None:
    (found,) = findings(profile(tmp_path, "a", [operation("_C::onednn_mm", 0, 90), operation("aten::add", 95, 5)]))

    assert "outside operations 5%" in found.text
    assert "GPU" not in found.text


def test_what_was_not_profiled_or_times_nothing_gives_no_finding() -> None:
    assert findings() == []
    assert findings(Profile("a", 1, None, "0", 2.0, (), None, ("holds no trace",))) == []
