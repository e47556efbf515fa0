"""``whichbits inspect`` says what files hold, to people and to scripts, or why it cannot."""

import gzip
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from tests.analyze.kernels.write_trace import call, kernel, trace_text, write_trace
from tests.record.make_run import make_run
from whichbits.analyze.kernels.profile import Profile, write_profile
from whichbits.analyze.kernels.window import kernel_time
from whichbits.cli import exit_code
from whichbits.record.inspection import Kind
from whichbits.record.scrapes import Scrape, during_path

LINE = "INFO 02-03 04:05:06 [kv_cache_utils.py:9] GPU KV cache size: 77,312 tokens"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "server.log"
    path.write_text(f"{LINE}\nERROR 02-03 04:05:07 [core.py:1] EngineCore failed to start.\n")
    return path


def objects(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_one_object_a_file_for_scripts(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["inspect", "--json", str(log), str(log)]) == 0

    first, second = objects(capsys)
    assert first == second
    assert first["file"] == str(log)
    assert first["kind"] == "startup_log"
    assert first["engine"] == "vllm"
    assert first["engine_version"] is None
    assert first["facts"] == {"kv_cache_tokens": 77312}
    assert first["lines"] == {"kv_cache_tokens": 1}
    assert first["texts"] == {"1": LINE}
    assert first["errors"][0]["code"] == "engine_core_failed_to_start"
    assert first["warnings"] == []


def test_people_see_facts_line_numbers_and_what_errors_mean(
    log: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    log.write_text(f"# a line of someone else\n{log.read_text()}")

    assert exit_code(["inspect", str(log)]) == 0

    shown = capsys.readouterr().out
    assert "kv_cache_tokens  77,312  line 2" in shown
    assert "error engine_core_failed_to_start" in shown
    assert "This follows from another error" in shown
    assert max(map(len, shown.splitlines()[1:])) <= 80


def test_a_file_that_is_unknown_does_not_stop_the_others(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    unknown, missing = tmp_path / "poem.txt", tmp_path / "none.log"
    unknown.write_text("a host of golden daffodils\n")

    assert exit_code(["inspect", "--json", str(unknown), str(missing), str(log)]) == 2

    said = capsys.readouterr()
    codes = [[error["code"] for error in json.loads(line)["errors"]] for line in said.out.splitlines()]
    assert codes == [["unknown_content"], ["unreadable_file"], ["engine_core_failed_to_start"]]
    assert str(unknown) in "".join(said.err.split())


def test_standard_input_is_read(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(f"{LINE}\n".encode())))

    assert exit_code(["inspect", "--json", "-"]) == 0
    assert objects(capsys)[0]["facts"] == {"kv_cache_tokens": 77312}


def test_a_file_of_another_encoding_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "redirected.log"
    path.write_text(f"{LINE}\n", encoding="utf-16")

    assert exit_code(["inspect", "--json", str(path)]) == 0
    assert objects(capsys)[0]["facts"] == {"kv_cache_tokens": 77312}


@pytest.mark.parametrize("content", [b"hello", b"\x00\xff\xfe\x80"])
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
    assert plain == packed | {"file": plain["file"]}
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


def test_a_result_whose_numbers_json_cannot_hold(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "result.json"
    path.write_text('{"duration": 2.0, "completed": 4, "request_throughput": 2.0, "mine": 1e999, "who": "\\ud800"}')

    assert exit_code(["inspect", "--json", str(path)]) == 0
    (found,) = objects(capsys)
    assert found["facts"]["metadata"]["mine"] is None
    assert exit_code(["inspect", str(path)]) == 0


POOL = (
    "INFO 02-03 04:05:05 [x.py:9] non-default args: {'model': 'm', 'max_num_seqs': 256}\n"
    "INFO 02-03 04:05:06 [x.py:9] GPU KV cache size: 102,288 tokens\n"
    "INFO 02-03 04:05:06 [x.py:9] Maximum concurrency for 4,096 tokens per request: 24.97x\n"
)


def test_a_long_line_of_many_facts_is_given_once_and_cut(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = "{'model': 'm', 'max_num_seqs': 256, 'max_model_len': 4096, 'seed': '" + "x" * 4000 + "'}"
    log.write_text(f"hello\nINFO 02-03 04:05:05 [x.py:9] non-default args: {settings}\n{LINE}\n")

    assert exit_code(["inspect", "--json", str(log)]) == 0
    said = capsys.readouterr().out
    found = json.loads(said)
    assert {"max_num_seqs": 2, "max_model_len": 2, "kv_cache_tokens": 3}.items() <= found["lines"].items()
    assert len(found["texts"]["2"]) == 500
    assert found["texts"]["3"] == LINE
    assert len(said) < 2000


def test_how_many_of_my_requests_fit(
    log: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    log.write_text(POOL)

    assert exit_code(["inspect", "--json", "--mean-tokens", "438", str(log)]) == 0
    facts = objects(capsys)[0]["facts"]
    assert (facts["mean_tokens"], facts["requests_that_fit"], facts["limited_by"]) == (438, 233, "kv_cache")

    assert exit_code(["inspect", "--mean-tokens", "200", str(log)]) == 0
    shown = capsys.readouterr().out
    assert "Maximum concurrency 24.97x is for requests of 4,096 tokens; shorter ones fit more often." in shown
    assert "(200 tokens each) the KV cache holds 511 at once, but --max-num-seqs lets only 256 run" in shown


def test_without_a_size_the_user_is_told_how_to_give_one(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log.write_text(POOL)

    assert exit_code(["inspect", str(log)]) == 0
    assert "Give --mean-tokens for yours." in " ".join(capsys.readouterr().out.split())


def test_a_size_that_can_say_nothing_of_a_file_is_told_in_a_line(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log.write_text("vllm:num_requests_waiting 3\n")

    assert exit_code(["inspect", "--json", "--mean-tokens", "438", str(log)]) == 0
    said = capsys.readouterr()
    assert "requests_that_fit" not in json.loads(said.out)["facts"]
    (line,) = said.err.splitlines()
    assert "--mean-tokens has no effect" in line


@pytest.mark.parametrize("mean", ["0", "-3", "nan", "inf"])
def test_a_size_that_is_none_is_bad_input(log: Path, mean: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["inspect", f"--mean-tokens={mean}", str(log)]) == 2
    assert "mean_tokens_not_positive" in capsys.readouterr().err


def test_the_size_is_that_of_a_runs_requests(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log.write_text(POOL)
    run = make_run(tmp_path, loads=(1,))

    assert exit_code(["inspect", "--json", "--run", str(run), str(log)]) == 0
    facts = objects(capsys)[0]["facts"]
    assert (facts["mean_tokens"], facts["requests_that_fit"]) == (111.0, 921)  # 100 + 11 tokens; 102288 / 111


def test_of_a_runs_folder_its_logs_and_scrapes_are_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = make_run(tmp_path, loads=(1,))
    (run / "logs").mkdir(exist_ok=True)
    (run / "logs" / "bf16-0.log").write_text(POOL)

    assert exit_code(["inspect", "--json", str(run)]) == 0

    kinds = {Path(found["file"]).parent.name: found for found in objects(capsys)}
    assert kinds["logs"]["facts"]["requests_that_fit"] == 921
    assert kinds["scrapes"]["kind"] == "metrics"
    assert kinds["scrapes"]["facts"]["scrapes"] > 0


def test_of_a_runs_folder_all_that_whichbits_wrote_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = make_run(tmp_path, loads=(1,))
    for path in (run / "scrapes").glob("*.during.jsonl.gz"):
        path.unlink()
    during = during_path(run, "bf16", "0")
    with during.open("wb") as file:
        for number, (running, usage) in enumerate([(1, 0.25), (7, 0.75), (3, 0.5)]):
            text = f"vllm:num_requests_running {running}.0\nvllm:kv_cache_usage_perc {usage}\n"
            scrape = Scrape("bf16", "0", number // 2, "during", (2 + number) * 10**9, text)
            file.write(gzip.compress(msgspec.json.encode(scrape) + b"\n"))
    (run / "profiles").mkdir()
    trace = write_trace(run / "profiles" / "bf16-c1.0.trace.json.gz", [kernel("zorp", 0, 60), kernel("zorp", 80, 20)])
    write_profile(run, Profile("bf16", 1, None, "0", 0.1, (trace.name,), kernel_time([trace])))
    (run / "telemetry.parquet").write_bytes(b"PAR1")
    (run / "logs").mkdir(exist_ok=True)
    (run / "logs" / "bf16-0.log").touch()

    assert exit_code(["inspect", "--json", str(run)]) == 0

    found = {Path(each["file"]).name: each for each in objects(capsys)}
    assert found[during.name]["kind"] == "metrics"
    assert found[during.name]["engine"] == "vllm"
    assert found[during.name]["facts"] == {
        "scrapes": 3, "arm": "bf16", "replica": "0", "phase": "during", "cells": [0, 1],
        "first_scrape_seconds": 2.0, "last_scrape_seconds": 4.0,
        "num_requests_running_peak": 7, "kv_cache_usage_peak": 0.75,
    }  # fmt: skip
    assert found["bf16-c1.json"]["kind"] == found[trace.name]["kind"] == "profile_trace"
    assert found["bf16-c1.json"]["facts"]["concurrency"] == 1
    assert found["bf16-c1.json"]["facts"]["window_ms"] == found[trace.name]["facts"]["window_ms"] == 0.1
    assert found["bf16-0.log"]["errors"][0]["code"] == "empty_file"
    assert "telemetry.parquet" not in found


def test_scrapes_that_a_kill_tore_are_read_up_to_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a-0.during.jsonl.gz"
    whole = gzip.compress(msgspec.json.encode(Scrape("a", "0", 1, "during", 5, "sglang:num_queue_reqs 4\n")) + b"\n")
    path.write_bytes(whole + whole[:-9])

    assert exit_code(["inspect", "--json", str(path)]) == 0
    (found,) = objects(capsys)
    assert (found["engine"], found["facts"]["scrapes"], found["facts"]["num_requests_waiting_peak"]) == ("sglang", 1, 4)
    assert found["errors"] == []

    path.write_bytes(whole + b"no gzip at all")
    assert exit_code(["inspect", "--json", str(path)]) == 0
    (found,) = objects(capsys)
    assert (found["facts"]["scrapes"], found["errors"][0]["code"]) == (1, "file_cut_off")


@pytest.mark.parametrize("content", [b"", b" \n\n"])
def test_an_empty_file_is_called_empty(tmp_path: Path, content: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "server.log"
    path.write_bytes(content)

    assert exit_code(["inspect", str(path)]) == 2
    assert "empty_file" in capsys.readouterr().err


def test_of_any_other_folder_each_file_is_read_but_no_table(
    tmp_path: Path, log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "requests.parquet").write_bytes(b"PAR1")
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "other.log").write_text(POOL)

    assert exit_code(["inspect", "--json", str(tmp_path)]) == 0
    assert [found["file"] for found in objects(capsys)] == [str(log)]


def test_a_folder_without_files_is_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["inspect", str(tmp_path)]) == 2
    assert "no_file" in capsys.readouterr().err


def test_its_help_lists_the_kinds_that_it_reads(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["inspect", "--help"]) == 0

    shown = capsys.readouterr().out
    assert [kind for kind in get_args(Kind) if kind not in shown] == []


def test_a_log_is_read_without_the_heavy_libraries(tmp_path: Path) -> None:
    """They take longer to import than a log of 5 MB takes to read."""
    log = tmp_path / "server.log"
    log.write_text("INFO 01-30 03:18:12 api_server.py:10] Graph capturing finished in 20 secs, took 0.50 GiB\n")
    asked = (
        "import sys; from whichbits.cli import exit_code; exit_code(['inspect', '--json', sys.argv[1]]);"
        "print(sorted({'numpy', 'pyarrow', 'pydantic', 'aiohttp', 'scipy'} & set(sys.modules)))"
    )
    said = subprocess.run([sys.executable, "-c", asked, str(log)], check=True, capture_output=True, text=True)

    assert said.stdout.splitlines()[-1] == "[]"
