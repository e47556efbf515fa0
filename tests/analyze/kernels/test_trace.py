"""Traces are read piece by piece, and as far as they go."""

import gzip
import tracemalloc
from pathlib import Path

import pytest

from tests.analyze.kernels.write_trace import kernel, trace_text, write_trace
from whichbits.analyze.kernels import trace as reader
from whichbits.analyze.kernels.trace import Trace, is_trace

EVENTS = [kernel(f'gemm_{number} \\ "quoted" é ü', number, 0.5) for number in range(200)]


@pytest.mark.parametrize("piece", [1, 7, 64, 1 << 20])
def test_events_do_not_depend_on_where_pieces_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece: int) -> None:
    monkeypatch.setattr(reader, "_PIECE_BYTES", piece)
    trace = Trace(write_trace(tmp_path / "t.json", EVENTS[:20], vllm_version="0.32.0"))

    assert list(trace.events()) == EVENTS[:20]
    assert trace.head["vllm_version"] == "0.32.0"
    assert not trace.cut_off


@pytest.mark.parametrize("share", [0.3, 0.9])
def test_a_file_that_is_cut_off_gives_its_whole_events(tmp_path: Path, share: float) -> None:
    text = trace_text(EVENTS)
    trace = Trace(tmp_path / "t.json")
    trace.path.write_text(text[: int(share * len(text))], encoding="utf-8")
    found = list(trace.events())

    assert found == EVENTS[: len(found)]
    assert abs(len(found) - share * len(EVENTS)) < 5
    assert trace.cut_off


def test_a_packed_file_that_is_cut_off_is_told(tmp_path: Path) -> None:
    content = gzip.compress(trace_text(EVENTS).encode())
    trace = Trace(tmp_path / "t.json.gz")
    trace.path.write_bytes(content[: len(content) // 2])

    assert len(list(trace.events())) < len(EVENTS)
    assert trace.cut_off


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    path = write_trace(tmp_path / "t.json.gz", EVENTS * 300)
    assert len(gzip.decompress(path.read_bytes())) > 15e6
    tracemalloc.start()
    try:
        assert sum(1 for _ in Trace(path).events()) == 300 * len(EVENTS)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert peak < 10e6


@pytest.mark.parametrize("content", [b"", b"{}", b"[1, 2]", b'{"data": []}', b"\x1f\x8bnot gzip", b"INFO 01-01"])
def test_other_files_are_no_traces(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)

    assert not is_trace(path)


def test_what_is_no_object_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text('{"traceEvents": [1, "x", {"ph": "M"}, null]}', encoding="utf-8")

    assert list(Trace(path).events()) == [{"ph": "M"}]
