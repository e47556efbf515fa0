"""What answers do not tell is unknown, and said to be."""

from dataclasses import replace

import pytest

from tests.analyze.make_cell import CELL, timelines
from tests.record.make_run import ended, failed, manifest, record
from whichbits.analyze.cells.cell import cell_summary
from whichbits.analyze.findings.observed import Observed
from whichbits.analyze.findings.work import counted_otherwise, untold_tokens
from whichbits.analyze.latency.throughput import throughput
from whichbits.record.columns import table_of
from whichbits.record.schema import RequestRecord, TokenCountSource

TOLD = record(0)
SILENT = replace(record(1), output_tokens=None)
NO_PROMPT = replace(record(1), prompt_tokens=None)


def codes(*records: RequestRecord) -> list[str]:
    cell = cell_summary(ended(CELL, records), table_of(CELL, records))
    return [finding.code for finding in untold_tokens(Observed(manifest(), [cell]))]


@pytest.mark.parametrize("records", [(SILENT,), (TOLD, SILENT)])
def test_a_rate_that_lacks_an_answers_tokens_is_unknown_and_not_lower(records: tuple[RequestRecord, ...]) -> None:
    found = throughput(timelines(records))

    assert (found.output_tokens_per_s, found.total_tokens_per_s) == (None, None)
    assert found.requests_per_s
    assert codes(*records) == ["tokens_untold"]


def test_prompts_that_nobody_counted_cost_the_total_only() -> None:
    found = throughput(timelines([TOLD, NO_PROMPT]))

    assert found.output_tokens_per_s
    assert found.total_tokens_per_s is None
    assert codes(TOLD, NO_PROMPT) == []


def test_failed_answers_owe_no_count() -> None:
    assert throughput(timelines([TOLD, failed(SILENT)])).output_tokens_per_s
    assert codes(TOLD, failed(SILENT)) == []
    assert codes(failed(TOLD)) == []


def test_who_counted_tokens_is_told_where_it_was_not_the_usage() -> None:
    records = [record(0)]

    def found(*sources: TokenCountSource) -> list[str]:
        cells = [
            cell_summary(replace(ended(CELL, records), arm=arm, token_count_source=source), table_of(CELL, records))
            for arm, source in zip("ab", sources, strict=True)
        ]
        return [finding.text for finding in counted_otherwise(Observed(manifest(), cells))]

    assert found("usage", "usage") == []
    (alike,) = found("chunks", "chunks")
    assert "a's by chunks" in alike
    assert "all arms were counted alike" in alike
    (apart,) = found("usage", "tokenizer")
    assert "do not compare" in apart
