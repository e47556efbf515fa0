"""What a person reads of an inspection: meanings, answers and lines, within the width of a terminal."""

import io
import re
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from whichbits.record.inspection import Inspection, Problem
from whichbits.report.inspection.answers import answers
from whichbits.report.inspection.inspection import print_inspection
from whichbits.report.inspection.meanings import MEANINGS

ROOT = Path(__file__).parents[3]
CODE = re.compile(r'(?:code=|warning=|hint=|Problem\(\s*)"([a-z_0-9.]+)"')


def shown(text: str, inspection: Inspection, width: int = 80) -> str:
    console = Console(file=io.StringIO(), width=width)
    print_inspection("a.log", text, inspection, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_every_code_that_a_reader_gives_has_a_meaning() -> None:
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "src/whichbits").rglob("*.py")]
    given = {code for source in sources for code in CODE.findall(source)}

    assert given - MEANINGS.keys() == set()


@pytest.mark.parametrize("code", MEANINGS)
def test_a_meaning_is_short_and_ends(code: str) -> None:
    assert len(MEANINGS[code]) <= 160
    assert MEANINGS[code].endswith(".")


def test_problems_come_first_with_their_meaning_and_line() -> None:
    line = "(EngineCore pid=1) ERROR 02-03 04:05:06 [core.py:1] CUDA out of memory"
    facts = {"kv_cache_tokens": 1234, "hints": ["enforce_eager"]}

    said = shown("", Inspection("startup_log", "vllm", "0.9.2", facts, (Problem("cuda_out_of_memory", line),)))

    title, error, *_ = said.splitlines()
    assert title == "a.log  startup log  vllm 0.9.2"
    assert error.strip() == "error cuda_out_of_memory"
    assert "    CUDA out of memory" in said
    assert "core.py" not in said
    assert said.index("No CUDA graphs") < said.index("kv_cache_tokens")


def test_the_number_beside_a_fact_is_its_line() -> None:
    text = "x\n  first: 1\nfirst:   1\nsecond: 2\n"
    inspection = Inspection(
        "bench_stdout", None, None, {"a": 1, "b": 2, "c": 3}, lines={"a": "first: 1", "b": "second: 2"}
    )

    rows = [" ".join(row.split()) for row in shown(text, inspection).splitlines()]
    assert rows[1:4] == ["a 1 line 2", "b 2 line 4", "c 3"]


def test_odd_text_cannot_steer_the_terminal() -> None:
    facts = {"model": "a\x1b[31m\ud800b", "long": "word " * 60}

    said = shown("", Inspection("startup_log", None, None, facts))

    assert "\x1b" not in said
    assert max(map(len, said.splitlines())) <= 80


def test_where_the_memory_went() -> None:
    (said,) = answers({
        "requested_memory_gib": 21.6, "model_memory_gib": 9.5, "activation_peak_gib": 1.6, "cuda_graph_gib": 0.3,
        "kv_cache_memory_gib": 10.25,
    })  # fmt: skip

    assert said == (
        "Memory of a GPU: weights 9.50, activations 1.60, CUDA graphs 0.30; 10.2 GiB of 21.6 GiB granted is left for "
        "the KV cache."
    )


def test_what_is_not_known_is_not_said() -> None:
    assert answers({}) == ()
    assert answers({"kv_cache_memory_gib": 3.0}) == ()
    assert answers({"max_concurrency": 2.0}) == ()


def test_a_hybrid_model_holds_more_than_its_tokens() -> None:
    facts = {"mean_tokens": 438.0, "requests_that_fit": 233, "requests_at_once": None, "limited_by": None}

    (said,) = answers(facts | {"hints": ["hybrid_model"]})

    assert "233 at once at most (each also holds state of a fixed size)" in said


@pytest.mark.parametrize(
    ("limited_by", "at_once", "end"),
    [
        (None, None, "the scheduler's cap is not known."),
        ("kv_cache", 233, "that is the limit."),
        ("max_num_seqs", 64, "but --max-num-seqs lets only 64 run: that is the limit."),
        ("slots", 4, "but the number of slots lets only 4 run: that is the limit."),
    ],
)
def test_what_limits_the_requests(limited_by: str | None, at_once: int | None, end: str) -> None:
    facts = {"mean_tokens": 438.0, "requests_that_fit": 233, "requests_at_once": at_once, "limited_by": limited_by}

    (said,) = answers(facts)

    assert said.startswith("Of your requests (438 tokens each) the KV cache holds 233 at once")
    assert said.endswith(end)


@pytest.mark.parametrize(
    ("facts", "heading"),
    [
        ({"runs": [{"a": 1}, {"a": 2}]}, "run 2"),
        ({"responses": [{"a": 1}, {"a": 2}]}, "response 2"),
        ({"stages": {"0": {"a": 1}, "1": {"a": 2}}}, "stage 1"),
        ({"vllm": {"a": 1}, "sglang": {"a": 2}}, "sglang"),
    ],
)
def test_each_of_several_stands_under_its_heading(facts: dict[str, Any], heading: str) -> None:
    rows = [" ".join(row.split()) for row in shown("", Inspection("startup_log", None, None, facts)).splitlines()]

    assert rows[rows.index(heading) + 1] == "a 2"


def test_of_metrics_people_see_times_by_topic_and_nothing_that_is_not_known() -> None:
    ttft = {
        "n": 1200, "mean": 52.125, "p50": 48.0, "p50_low": 40.0, "p50_high": 60.0,
        "p99": None, "p99_low": 2560.0, "p99_high": None,
    }  # fmt: skip
    facts = {
        "num_requests_running": 3, "prompt_tokens": 900, "ttft_sum": 62.55, "ttft_count": 1200,
        "iteration_tokens_sum": 1000, "iteration_tokens_count": 250, "prefix_hit_rate": 0.1, "kv_cache_usage": 0.25,
        "ttft_buckets": {"1": 9},
        "ttft_ms": ttft, "requests_at_once": None, "limited_by": None,
    }  # fmt: skip

    said = shown("", Inspection("metrics", "vllm", None, facts), width=120)

    assert [" ".join(row.split()) for row in said.splitlines()] == [
        "a.log metrics vllm",
        "requests",
        "num_requests_running 3",
        "latency (ms)",
        "ttft_ms mean 52.1, p50 48.0 (40.0 to 60.0), p99 over 2560, of 1,200",
        "prefix cache",
        "prefix_hit_rate 0.1",
        "KV cache",
        "kv_cache_usage 0.25",
        "tokens",
        "prompt_tokens 900",
        "iteration_tokens mean 4.00 over 250 steps",
        "",
    ]


def test_a_sum_without_its_count_is_shown_as_it_is() -> None:
    said = shown("", Inspection("metrics", "vllm", None, {"itl_sum": 1.5, "iteration_tokens_sum": 7}))

    assert [row.split() for row in said.splitlines()[1:5]] == [
        ["latency", "(ms)"], ["itl_sum", "1.5"], ["tokens"], ["iteration_tokens_sum", "7"],
    ]  # fmt: skip


def test_a_log_that_tells_no_cap_shows_no_row_of_it() -> None:
    facts = {"mean_tokens": 438.0, "requests_that_fit": 233, "requests_at_once": None, "limited_by": None}
    said = shown("", Inspection("startup_log", "vllm", None, facts))

    assert "requests_that_fit" in said
    assert "none" not in said
