"""Profiled windows come back from a run's folder, in an order that people expect, or not at all."""

from pathlib import Path

import pytest

from tests.analyze.kernels.write_trace import kernel, write_trace
from tests.record.make_run import make_run
from whichbits.analyze.kernels.profile import Profile, read_profiles, write_profile
from whichbits.analyze.kernels.window import kernel_time
from whichbits.analyze.summarize import summarize
from whichbits.errors import BadInput
from whichbits.record.profiles import keep_traces, profile_path, written_folder, written_traces
from whichbits.record.run import Run


def profile(arm: str, concurrency: int | None, rate: float | None, trace: Path) -> Profile:
    return Profile(arm, concurrency, rate, "0", 2.0, ("profiles/x.trace.json.gz",), kernel_time([trace]), ("a note",))


def test_what_is_written_is_read(tmp_path: Path) -> None:
    trace = write_trace(tmp_path / "t.json", [kernel("nvjet_tst", 0, 3), kernel("zorp", 9, 1)])
    written = [profile("a/b", 4, None, trace), profile("a/b", 32, 2.5, trace)]
    for each in written:
        write_profile(tmp_path, each)

    assert sorted(path.name for path in (tmp_path / "profiles").iterdir()) == ["a%2Fb-2.5rps-c32.json", "a%2Fb-c4.json"]
    assert set(read_profiles(tmp_path)) == set(written)


def test_traces_are_moved_packed_and_no_summary_is_taken_for_one(tmp_path: Path) -> None:
    server = written_folder(tmp_path, "bf16", "0")
    server.mkdir(parents=True)
    events = [kernel("nvjet_tst", 0, 3)]
    traces = [
        write_trace(server / "rank0.pt.trace.json", events),
        write_trace(server / "rank1.pt.trace.json.gz", events),
    ]
    (server / "rank0.profiler_out.txt").write_text("a table")
    before = kernel_time(traces)
    assert written_traces(server) == tuple(traces)
    kept = keep_traces(profile_path(tmp_path, "bf16", 4, None), written_traces(server))

    assert [path.name for path in kept] == ["bf16-c4.0.trace.json.gz", "bf16-c4.1.trace.json.gz"]
    assert all(path.read_bytes().startswith(b"\x1f\x8b") for path in kept)
    assert kernel_time(kept) == before
    assert written_traces(server) == ()
    assert list(read_profiles(tmp_path)) == []


def test_the_summary_lists_windows_by_arm_and_load(tmp_path: Path) -> None:
    folder = make_run(tmp_path)
    first, second = Run.load(folder).manifest.arms
    trace = write_trace(tmp_path / "t.json", [kernel("nvjet_tst", 0, 3)])
    for arm, concurrency in ((second, 4), (first, 16), (first, 4)):
        write_profile(folder, profile(arm, concurrency, None, trace))
    found = summarize(Run.load(folder))

    assert [(each.arm, each.concurrency) for each in found.profiles] == [(first, 4), (first, 16), (second, 4)]
    assert [each.code for each in found.findings].count("kernel_time") == 2


def test_a_damaged_summary_is_said(tmp_path: Path) -> None:
    path = profile_path(tmp_path, "a", 1, None)
    path.parent.mkdir()
    path.write_text('{"arm": 3}')

    with pytest.raises(BadInput) as caught:
        list(read_profiles(tmp_path))
    assert caught.value.code == "run_broken"
