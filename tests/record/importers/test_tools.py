"""Every tool's file is known by its content, and what is none is refused with one clear error."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.record.importers.make_bench import bench_record
from tests.record.importers.make_results import (
    AIPERF_CSV,
    AIPERF_RECORDS,
    GUIDELLM_REQUESTS,
    INFERENCE_PERF_REQUESTS,
    LLMD_NEW,
    aiperf,
    detailed,
    guidellm,
    inference_perf,
    llmd_old,
    sglang,
    written,
)
from whichbits.errors import BadInput
from whichbits.record.definitions import DEFINITIONS
from whichbits.record.importers.imported_run import write_imported_run
from whichbits.record.importers.result_file import ResultFile, number
from whichbits.record.importers.tools import IMPORTERS, read_results

FILES: dict[str, object] = {
    "vllm-bench": bench_record(),
    "sglang-bench": sglang(),
    "guidellm": guidellm(),
    "aiperf-json": aiperf(),
    "aiperf-csv": AIPERF_CSV,
    "aiperf-records": AIPERF_RECORDS,
    "inference-perf": inference_perf(),
    "inference-perf-requests": INFERENCE_PERF_REQUESTS,
    "llm-d-report": LLMD_NEW,
}


def text(content: object) -> str:
    return content if isinstance(content, str) else json.dumps(content)


@pytest.mark.parametrize("name", FILES)
def test_one_importer_knows_each_file(name: str) -> None:
    file = ResultFile("result", text(FILES[name]))

    assert [each for each, importer in IMPORTERS.items() if importer.recognises(file)] == [name]


def test_every_importer_is_tried() -> None:
    assert FILES.keys() == IMPORTERS.keys()


@pytest.mark.parametrize("name", FILES)
def test_every_meaning_is_in_the_catalogue(name: str, tmp_path: Path) -> None:
    for cell in read_results(written(tmp_path, "result", FILES[name])):
        assert set(cell.imported.definitions.values()) <= DEFINITIONS.keys()


@pytest.mark.parametrize("content", [detailed(), sglang(), guidellm(), aiperf(), inference_perf(), llmd_old()])
@pytest.mark.parametrize("indent", [None, 2])
def test_a_file_that_was_cut_off_is_refused(content: object, indent: int | None, tmp_path: Path) -> None:
    whole = json.dumps(content, indent=indent)
    for end in (len(whole) // 3, len(whole) - 2):
        with pytest.raises(BadInput) as caught:
            read_results(written(tmp_path, "result.json", whole[:end]))
        assert caught.value.code == "result_cut_off"


def test_an_appended_line_that_was_cut_off_is_refused(tmp_path: Path) -> None:
    line = json.dumps(bench_record())
    with pytest.raises(BadInput) as caught:
        read_results(written(tmp_path, "result.json", f"{line}\n{line[:40]}"))
    assert caught.value.code == "result_cut_off"


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ("", "result_unknown"),
        ("hello", "result_unknown"),
        ("a: [1, 2", "result_unknown"),
        ("Metric,avg\nNothing,1\n", "result_unknown"),
        ("{}", "result_cut_off"),
        ("[]", "result_cut_off"),
        ("[" * 100_000, "result_cut_off"),
        ('{"benchmarks": 3}', "result_cut_off"),
        ('{"benchmarks": [{"metrics": null}]}', "result_cut_off"),
        ('{"duration": NaN, "completed": NaN, "request_throughput": NaN}', "result_empty"),
        ('{"duration": 1e999, "completed": "40", "request_throughput": [1]}', "result_empty"),
        ('{"duration": -1, "completed": -4, "request_throughput": -2, "mean_ttft_ms": -5}', "result_empty"),
    ],
)
def test_what_is_no_result_is_refused(content: str, code: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput) as caught:
        read_results(written(tmp_path, "result.json", content))
    assert caught.value.code == code


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot be read"):
        read_results(tmp_path / "nothing.json")


def test_a_huge_file_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "huge.json"
    with path.open("wb") as file:
        file.truncate(2**30 + 1)  # sparse: takes no room
    with pytest.raises(BadInput) as caught:
        read_results(path)
    assert caught.value.code == "result_too_large"


@pytest.mark.parametrize(
    "huge", [{"ttfts": [1e17, 0.2, 0.0]}, {"start_times": [0.0, 1.7e9, 1.7e9]}, {"output_lens": [10**12, 2, 0]}]
)
def test_a_number_that_no_run_can_hold_is_refused(huge: dict[str, object], tmp_path: Path) -> None:
    cells = read_results(written(tmp_path, "result.json", detailed(**huge)))
    with pytest.raises(BadInput) as caught:
        write_imported_run(tmp_path, "run", {"arm": cells})
    assert caught.value.code == "result_unusable"


JUNK: tuple[Any, ...] = (None, True, -1, 0, 1e308, 10**30, "", "inf", [], [None], [{}], {}, {"": 1}, float("nan"))


def spoiled(value: Any, drawn: random.Random) -> Any:
    """The same with junk in one random place."""
    if isinstance(value, dict) and value and drawn.random() < 0.9:
        key = drawn.choice(list(value))
        return {**value, key: spoiled(value[key], drawn)}
    if isinstance(value, list) and value and drawn.random() < 0.9:
        at = drawn.randrange(len(value))
        return [*value[:at], spoiled(value[at], drawn), *value[at + 1 :]]
    return drawn.choice(JUNK)


@pytest.mark.parametrize(
    "content",
    [
        detailed(latencies=[1, 1, 0]),
        sglang(),
        guidellm(GUIDELLM_REQUESTS),
        aiperf(),
        [json.loads(line) for line in AIPERF_RECORDS.splitlines()],
        inference_perf(),
        INFERENCE_PERF_REQUESTS,
        llmd_old(),
        yaml.safe_load(LLMD_NEW),
    ],
)
def test_junk_anywhere_is_read_over_or_refused(content: Any, tmp_path: Path) -> None:
    drawn = random.Random(7)
    read = 0
    for attempt in range(300):
        junk = spoiled(spoiled(content, drawn), drawn)
        try:
            cells = read_results(written(tmp_path, "result.json", junk))
            if attempt % 20 == 0:
                write_imported_run(tmp_path, "run", {"arm": cells})
        except BadInput:
            continue
        read += 1
    assert read > 100


@pytest.mark.parametrize("value", [None, True, "1", float("nan"), float("inf"), -1.0, 10**400, 1e300, [1]])
def test_what_is_no_number_is_none(value: object) -> None:
    assert number(value) is None


def test_zero_is_a_number() -> None:
    assert number(0) == 0.0
