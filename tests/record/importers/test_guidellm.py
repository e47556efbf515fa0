"""GuideLLM's reports: its names are not ours, and its requests have first and last token only."""

from pathlib import Path
from typing import Any

import pytest

from tests.record.importers.make_results import GUIDELLM_REQUESTS, guidellm, imported

MS = 1_000_000


def test_statistics_of_good_requests_are_read_under_our_names(tmp_path: Path) -> None:
    (cell,) = imported(tmp_path, guidellm())

    assert (cell.arm, cell.concurrency, cell.request_rate) == ("acme/tiny-7b", 4, None)
    assert (cell.completed, cell.failed) == (2, 1)
    told = cell.imported.statistics
    assert (told["ttft_ms.p50"], told["ttft_ms.p99"]) == (140.0, 199.0)
    assert (told["tpot_ms.mean"], told["tpot_ms.p90"]) == (12.0, 14.0)  # and not the 77 that contain the TTFT
    assert told["e2e_ms.p99"] == pytest.approx(500.0)
    assert told["output_tokens_per_s"] == 80.0
    assert (told["prompt_tokens"], told["output_tokens"], told["duration_s"]) == (300.0, 32.0, 60.0)
    assert cell.imported.definitions["tpot_ms"] == "tpot_token_weighted"
    assert cell.imported.definitions["output_tokens_per_s"] == "rate_window"
    assert "itl_ms" not in cell.imported.definitions
    assert cell.facts == {"model": "acme/tiny-7b", "tool_version": "0.7.3"}
    assert cell.notes == ("left out, since the end of the benchmark cut them off: 1 request",)


def test_requests_are_read_in_the_order_of_their_sends(tmp_path: Path) -> None:
    (cell,) = imported(tmp_path, guidellm(GUIDELLM_REQUESTS))
    first, lost, last = cell.records

    assert (first.prompt_tokens, first.output_tokens, first.sent_ns) == (200, 11, 0)
    assert first.chunk_ns == (200 * MS, 400 * MS)  # 10 gaps of 20 ms behind the first token
    assert first.chunk_tokens == (1, 10)
    assert first.finished_ns == 450 * MS
    assert (lost.sent_ns, lost.error) == (500 * MS, "HTTP 500")
    assert last.chunk_ns == (1100 * MS, 1300 * MS)
    assert cell.imported.definitions["tpot_ms"] == "tpot"
    assert "itl_ms" not in cell.imported.definitions


def test_a_sample_of_the_requests_is_not_taken_for_all(tmp_path: Path) -> None:
    sample = {**GUIDELLM_REQUESTS, "successful": GUIDELLM_REQUESTS["successful"][:1]}
    (cell,) = imported(tmp_path, guidellm(sample))

    assert cell.records == ()
    assert cell.imported.definitions["tpot_ms"] == "tpot_token_weighted"


@pytest.mark.parametrize(
    ("strategy", "load"),
    [
        ({"type_": "synchronous"}, (1, None)),
        ({"type_": "constant", "rate": 2.5}, (None, 2.5)),
        ({"type_": "poisson", "rate": 2.5}, (None, 2.5)),
        ({"type_": "throughput", "streams": None, "max_concurrency": 512}, (512, None)),
        ({"type_": "throughput", "streams": None}, (None, None)),
    ],
)
def test_the_strategy_is_the_load(tmp_path: Path, strategy: dict[str, Any], load: tuple[object, object]) -> None:
    (cell,) = imported(tmp_path, guidellm(**strategy))

    assert (cell.concurrency, cell.request_rate) == load
