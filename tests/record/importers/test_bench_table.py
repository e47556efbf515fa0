"""The printed table is read through the noise that terminals, logs and people put around it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.record.importers.make_bench import bench_table
from whichbits.record.importers.bench_table import read_bench_tables

ROWS = (
    ("Successful requests", 40),
    ("Benchmark duration (s)", "50.00"),
    ("Output token throughput (tok/s)", "80.25"),
    ("Peak output token throughput (tok/s)", "96.00"),
    ("Peak concurrent requests", "9.00"),
    ("Mean TTFT (ms)", "101.50"),
    ("P99.9 ITL (ms)", "62.00"),
    ("Median E2E Latency (ms)", "4000.00"),
)
FACTS = {
    "completed": 40,
    "duration_s": 50.0,
    "output_throughput": 80.25,
    "peak_output_throughput": 96.0,
    "peak_concurrent": 9,
    "mean_ttft_ms": 101.5,
    "p99.9_itl_ms": 62.0,
    "median_e2e_ms": 4000.0,
}
TABLE = bench_table(*ROWS)


@pytest.mark.parametrize(
    "text",
    [
        TABLE,
        TABLE.replace("\n", "\r\n"),
        TABLE.replace("\n", " # see here\n"),
        "\n".join(f"INFO 03-01 12:00:00 [serve.py:7] {line}" for line in TABLE.splitlines()),
        "\n".join(f"\x1b[36m(bench pid=9)\x1b[0m {line}" for line in TABLE.splitlines()),
        TABLE.replace(":  ", ":\n  "),
        TABLE.removesuffix("=" * 50 + "\n") + "Mean TPOT (ms)",
    ],
    ids=["plain", "crlf", "remarks", "log prefix", "colours", "wrapped", "cut off"],
)
def test_noise_changes_no_fact(text: str) -> None:
    (table,) = read_bench_tables(text)

    assert table.facts == FACTS


def test_every_fact_shows_the_row_it_came_from() -> None:
    (table,) = read_bench_tables(TABLE)

    assert table.lines["mean_ttft_ms"] == "Mean TTFT (ms): 101.50"
    assert table.lines.keys() == table.facts.keys()


def test_sglang_rows_are_told_apart_from_their_likes() -> None:
    (table,) = read_bench_tables(
        bench_table(
            ("Backend", "sglang-oai"),
            ("Traffic request rate", "inf"),
            ("Max reqeust concurrency", "not set"),
            ("Total generated tokens", 500),
            ("Total generated tokens (retokenized)", 498),
            ("Concurrency", 3.5),
        )
    )

    assert table.facts == {
        "backend": "sglang-oai",
        "request_rate": "inf",
        "max_concurrency": None,
        "output_tokens": 500,
        "output_tokens_retokenized": 498,
        "mean_concurrency": 3.5,
    }


def test_settings_printed_before_a_table_are_its_own() -> None:
    first = "Traffic request rate: 2.5\nMaximum request concurrency: 8\n" + TABLE
    second = "Maximum request concurrency: None\n" + TABLE

    facts = [table.facts for table in read_bench_tables(first + second)]

    assert [(each.get("request_rate"), each["max_concurrency"]) for each in facts] == [(2.5, 8), (None, None)]


@pytest.mark.parametrize(
    "before",
    [
        "$ vllm bench serve --backend openai \\\n  --num-prompts 200 --max-concurrency=16\n",
        "Namespace(backend='openai', attention_backend='X', num_prompts=200, max_concurrency=16)\n",
    ],
)
def test_the_command_and_its_echo_tell_settings(before: str) -> None:
    (table,) = read_bench_tables(before + TABLE)

    assert table.facts == FACTS | {"backend": "openai", "prompts_sent": 200, "max_concurrency": 16}


def test_the_progress_bar_tells_how_many_prompts_were_sent() -> None:
    """Whatever the command beside it says: people edit commands, and runs have bars."""
    bar = "  0%|     | 0/200 [00:00<?, ?it/s]\r100%|#####| 200/200 [00:02<00:00, 88.1it/s]\n"
    (table,) = read_bench_tables("$ bench --num-prompts 900\n" + bar + TABLE)

    assert table.facts["prompts_sent"] == 200


def test_a_setting_with_two_values_is_unknown() -> None:
    (table,) = read_bench_tables("serve --num-prompts 10\nserve --num-prompts 20\n" + TABLE)

    assert table.facts == FACTS


@given(st.lists(st.sampled_from([label for label, _ in ROWS]) | st.text(), max_size=8))
def test_labels_without_values_are_no_table(parts: list[str]) -> None:
    assert read_bench_tables(bench_table((":x ".join(parts), ""))) == []
