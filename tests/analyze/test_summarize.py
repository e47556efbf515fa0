"""A summary holds what the run holds, and every number of it can be worked out again."""

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from tests.analyze.recompute import check_summary
from tests.record.make_run import (
    MS,
    TWO_ARMS,
    SyntheticArm,
    arm_record,
    counters,
    ended,
    failed,
    make_run,
    manifest,
    record,
)
from whichbits.analyze.summarize import summarize, summary_json
from whichbits.analyze.summary import Finding, Summary
from whichbits.record.run import Run
from whichbits.record.schema import Cell, Fact, RequestRecord
from whichbits.record.scrapes import Scrape
from whichbits.record.writer import RunWriter


def untidy_requests(seed: int, count: int = 60) -> list[RequestRecord]:
    """Overlapping answers of all lengths and chunk sizes; some failed or unsent, some of unknown counts."""
    rng = random.Random(seed)
    return [_untidy(rng, index) for index in range(count)]


def _untidy(rng: random.Random, index: int) -> RequestRecord:
    sizes = [rng.choice((1, 1, 1, 2, 5)) for _ in range(rng.randrange(1, 12))]
    good = record(index, rng.randrange(3000) * MS, rng.uniform(5, 80), rng.uniform(2, 30), len(sizes))
    good = replace(
        good,
        chunk_tokens=tuple(sizes),
        output_tokens=rng.choice((sum(sizes), sum(sizes), None)),
        cached_tokens=rng.choice((0, 16, None)),
        prompt_tokens=rng.choice((100, 200)),
    )
    unsent = replace(failed(good), sent_ns=None, finished_ns=None, error_code="connect_refused")
    cut_off = replace(good, error_code="truncated")
    return rng.choice((good, good, good, good, failed(good), cut_off, unsent))


def untidy_run(parent: Path) -> Path:
    cells = [Cell(number, "bf16", 8, None, number) for number in range(4)]
    study = {"slo": {"ttft_ms": 60, "tpot_ms": 20, "e2e_ms": None}}
    writer = RunWriter.create(parent, replace(manifest(cells=cells), study=study))
    for cell in cells[:3]:
        records = untidy_requests(cell.cell)
        writer.cell(replace(cell, state="done", requests=len(records)), records)
    return writer.finish(interrupted=True)


def summarized(folder: Path) -> Summary:
    summary = summarize(Run.load(folder))
    (folder / "summary.json").write_bytes(summary_json(summary))
    return summary


@pytest.mark.parametrize("make", [make_run, untidy_run])
def test_every_cell_number_can_be_recomputed_from_the_requests(tmp_path: Path, make: Callable[[Path], Path]) -> None:
    folder = make(tmp_path)
    summary = summarized(folder)

    assert check_summary(folder) >= 19 * len(summary.cells)
    assert any(cell.steady_output_tokens_per_s for cell in summary.cells)


def test_a_wrong_number_does_not_pass_the_recomputation(tmp_path: Path) -> None:
    folder = make_run(tmp_path)
    summary = summarized(folder)
    wrong = replace(summary.cells[2], mean_batch=(summary.cells[2].mean_batch or 0) * 1.001)
    (folder / "summary.json").write_bytes(summary_json(replace(summary, cells=(wrong,))))

    with pytest.raises(AssertionError, match="mean_batch"):
        check_summary(folder)


def test_summary_json_reads_back_as_the_summary(tmp_path: Path) -> None:
    summary = summarize(Run.load(make_run(tmp_path)))

    assert msgspec.json.decode(summary_json(summary), type=Summary) == summary


def test_the_known_truth_of_a_run_comes_back(tmp_path: Path) -> None:
    summary = summarize(Run.load(make_run(tmp_path, loads=(1, 4, 32), repeats=2)))

    (median_tpot,) = [found for found in summary.crossovers if found.metric == "tpot_ms.p50"]
    assert [crossing.load for crossing in median_tpot.crossings] == [pytest.approx(16, rel=1e-4)]
    assert summary.recommendation[0].text == (
        "median TPOT: w4a16 up to 16 concurrent requests (either within 14 to 18), bf16 beyond (compared at 1 to 32)"
    )
    assert [cell.peak_concurrency for cell in summary.cells[:6]] == [1, 1, 4, 4, 32, 32]
    assert {cell.prefix_hit_rate for cell in summary.cells} == {0.0}
    assert "books_disagree" not in {finding.code for finding in summary.findings}


def test_an_arm_is_described_by_what_its_engine_said(tmp_path: Path) -> None:
    facts = {
        "engine_version": Fact("0.1.0", "log", "line 1"),
        "model_memory_gib": Fact(0.25, "log"),
        "kv_cache_tokens": Fact(8192, "log"),
        "quant_kernels": Fact(None, "log"),
    }
    folder = make_run(tmp_path, {"w4a16": replace(TWO_ARMS["w4a16"], facts=facts)}, loads=(1,))

    arm = summarize(Run.load(folder)).arms["w4a16"]

    assert (arm.engine_version, arm.weights_gib, arm.kv_cache_tokens) == ("0.1.0", 0.25, 8192)
    assert (arm.kernel, arm.load_seconds, arm.init_seconds) == (None, None, None)
    assert arm.model == "synthetic-135m"


def findings_of(folder: Path, code: str) -> list[Finding]:
    return [finding for finding in summarize(Run.load(folder)).findings if finding.code == code]


IDLE = {"activation_quantization_effective": Fact(value=False, source="server log", line="probe: identical")}


@pytest.mark.parametrize(
    ("arm", "code", "words"),
    [
        (replace(TWO_ARMS["bf16"], failed_requests=1), "requests_failed", "1 of 8 requests failed"),
        (replace(TWO_ARMS["bf16"], client="client_limited"), "client_limited", "left out"),
        (replace(TWO_ARMS["bf16"], client="client_suspect"), "client_suspect", "may have been"),
        (replace(TWO_ARMS["bf16"], output_tokens=12), "unequal_work", "output tokens were odd 96, even 88"),
        (replace(TWO_ARMS["bf16"], prompt_tokens=90), "unequal_work", "prompt tokens were odd 720, even 800"),
        (
            replace(TWO_ARMS["bf16"], weight_format="w8a8-int8", facts=IDLE),
            "activation_quantization_ineffective",
            "odd",
        ),
        (
            replace(TWO_ARMS["bf16"], cache_state="unverified: 0 answered 404"),
            "cache_reset_unverified",
            "0 answered 404",
        ),
        (replace(TWO_ARMS["bf16"], other_cpu_cores=0.75), "machine_not_quiet", "up to 0.75 of its cores"),
        (TWO_ARMS["w4a16"], "crossover", "even passes odd at 16"),
        (TWO_ARMS["bf16"], "thin_tails", "all 4 cells"),
    ],
)
def test_what_is_odd_about_an_arm_is_found(tmp_path: Path, arm: SyntheticArm, code: str, words: str) -> None:
    even = TWO_ARMS["bf16"]
    folder = make_run(tmp_path, {"odd": arm, "even": even}, loads=(2, 32))

    found = findings_of(folder, code)

    assert words in found[0].text
    assert found[0].evidence


def test_two_equal_and_healthy_arms_raise_only_that_their_tails_are_thin(tmp_path: Path) -> None:
    folder = make_run(tmp_path, {"a": TWO_ARMS["bf16"], "b": TWO_ARMS["bf16"]}, loads=(2, 32), repeats=4)

    assert {finding.code for finding in summarize(Run.load(folder)).findings} == {"thin_tails", "tails_not_compared"}


def test_two_equal_arms_met_once_may_still_differ(tmp_path: Path) -> None:
    folder = make_run(tmp_path, {"a": TWO_ARMS["bf16"], "b": TWO_ARMS["bf16"]}, loads=(2, 32))

    found = findings_of(folder, "crossover_noisy")

    assert found[0].kind == "unresolved"
    assert "a / b (1 more)" in found[0].text
    assert found[0].settled_by == "1 more repeat of the study"


def one_cell_run(parent: Path, records: list[RequestRecord], counted: dict[str, list[RequestRecord]]) -> Path:
    """A run of one cell, whose replicas counted the given requests."""
    cell = Cell(0, "bf16", 2, None, 0)
    writer = RunWriter.create(parent, manifest(cells=[cell]))
    writer.arm(arm_record("bf16", TWO_ARMS["bf16"]))
    for replica, requests in counted.items():
        writer.scrape(Scrape("bf16", replica, 0, "before", 0, counters([record()])))
        writer.scrape(Scrape("bf16", replica, 0, "after", 1, counters([record(), *requests])))
    writer.cell(ended(cell, records), records)
    return writer.finish()


ONE, TWO = record(0), replace(record(1), replica="1")


@pytest.mark.parametrize(
    ("records", "counted", "said"),
    [
        ([ONE, TWO], {"0": [ONE], "1": [TWO]}, []),
        ([ONE, TWO], {"0": [ONE, TWO], "1": []}, ["replica 0 2", "replica 1 0"]),
        ([replace(ONE, replica=None), TWO], {"0": [ONE, TWO], "1": []}, []),
        ([replace(ONE, replica=None), TWO], {"0": [ONE], "1": []}, ["the engines 1"]),
        ([ONE, failed(TWO)], {"0": [ONE], "1": []}, []),
    ],
    ids=[
        "balanced",
        "wrong replica",
        "replicas unknown",
        "a request that nobody answered",
        "a failure is not judged",
    ],
)
def test_books_are_held_replica_by_replica_where_known(
    tmp_path: Path, records: list[RequestRecord], counted: dict[str, list[RequestRecord]], said: list[str]
) -> None:
    found = findings_of(one_cell_run(tmp_path, records, counted), "books_disagree")

    requests = [finding.text for finding in found if "requests finished" in finding.text]
    assert [text.rpartition(", ")[2].rstrip(".") for text in requests] == said


def test_a_cache_nobody_speaks_of_is_unresolved(tmp_path: Path) -> None:
    silent = replace(ONE, cached_tokens=None)
    (finding,) = findings_of(one_cell_run(tmp_path, [silent], {}), "cache_unknown")

    assert finding.kind == "unresolved"


def test_a_run_killed_halfway_is_summarized_as_far_as_it_got(tmp_path: Path) -> None:
    writer = RunWriter.create(tmp_path, manifest(cells=[Cell(0, "bf16", 1, None, 0), Cell(1, "bf16", 2, None, 0)]))
    writer.cell(ended(writer.manifest.cells[0], [ONE]), [ONE])

    summary = summarize(Run.load(writer.folder))

    assert summary.interrupted
    assert [(cell.state, cell.requests) for cell in summary.cells] == [("done", 1), ("planned", 0)]
    assert [finding.text for finding in summary.findings if finding.code == "unfinished"] == [
        "Cut short or not run: 1 of 2 cells."
    ]
