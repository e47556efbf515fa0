"""``whichbits inspect`` says what files hold, to people and to scripts, or why it cannot."""

import json
from pathlib import Path

import pytest

from tests.analyze.kernels.write_trace import call, kernel, trace_text, write_trace
from whichbits.cli import exit_code

LINE = "INFO 02-03 04:05:06 [kv_cache_utils.py:9] GPU KV cache size: 77,312 tokens"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "server.log"
    path.write_text(f"{LINE}\nERROR 02-03 04:05:07 [core.py:1] EngineCore failed to start.\n")
    return path


def test_one_object_a_file_for_scripts(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["inspect", "--json", str(log), str(log)]) == 0

    first, second = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert first == second
    assert first["kind"] == "startup_log"
    assert first["engine"] == "vllm"
    assert first["engine_version"] is None
    assert first["facts"] == {"kv_cache_tokens": 77312}
    assert first["lines"] == {"kv_cache_tokens": LINE}
    assert first["errors"][0]["code"] == "engine_core_failed_to_start"
    assert first["warnings"] == []


def test_people_see_facts_lines_and_errors(
    log: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")

    assert exit_code(["inspect", str(log)]) == 0

    shown = capsys.readouterr().out
    assert "kv_cache_tokens  77,312  1" in shown
    assert f"1 {LINE}" in shown
    assert "engine_core_failed_to_start" in shown


def test_a_file_of_another_encoding_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "redirected.log"
    path.write_text(f"{LINE}\n", encoding="utf-16")

    assert exit_code(["inspect", "--json", str(path)]) == 0
    assert json.loads(capsys.readouterr().out)["facts"] == {"kv_cache_tokens": 77312}


@pytest.mark.parametrize("content", [b"", b"hello", b"\x00\xff\xfe\x80"])
def test_what_cannot_be_read_is_bad_input(tmp_path: Path, content: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "something"
    path.write_bytes(content)

    assert exit_code(["inspect", str(path)]) == 2
    assert "unknown_content" in capsys.readouterr().err


def test_a_missing_file_is_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["inspect", str(tmp_path / "none.log")]) == 2
    assert "unreadable_file" in capsys.readouterr().err


def test_a_profilers_trace_is_read_packed_or_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    events = [kernel("void marlin::Marlin<1l>(x)", 0, 60), kernel("zorp", 80, 20)]
    files = [write_trace(tmp_path / name, events, vllm_version="0.25.1") for name in ("a.json", "b.json.gz")]
    assert exit_code(["inspect", "--json", *map(str, files)]) == 0

    plain, packed = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert plain == packed
    assert (plain["kind"], plain["engine"], plain["engine_version"]) == ("profile_trace", "vllm", "0.25.1")
    assert (plain["facts"]["gemm_share"], plain["facts"]["gap_share"]) == (0.6, 0.2)
    assert plain["facts"]["families_ms"]["gemm, marlin"] == 0.06
    assert plain["facts"]["unknown_ms"] == {"zorp": 0.02}
    assert plain["warnings"] == plain["errors"] == []


def test_a_trace_that_is_cut_off_or_empty_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    torn, empty = tmp_path / "torn.json", tmp_path / "empty.json"
    torn.write_text(trace_text([kernel("zorp", 0, 1)] * 9)[:-500], encoding="utf-8")
    write_trace(empty, [call("cudaLaunchKernel", 0, 1)])
    assert exit_code(["inspect", "--json", str(torn), str(empty)]) == 0

    first, second = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert [error["code"] for error in first["errors"]] == ["file_cut_off"]
    assert [warning["code"] for warning in second["warnings"]] == ["trace_without_times"]
