"""A cell that breaks its SLO by the burst of its opening, and one that does so all along."""

from dataclasses import replace

from tests.analyze.make_observed import arm, cell, found, observed
from tests.record.make_run import record
from whichbits.analyze.cells.cell import cell_summary
from whichbits.analyze.findings.opening import missed_at_start
from whichbits.record.columns import table_of
from whichbits.record.schema import Cell
from whichbits.study.model import Slo


def test_a_cell_whose_opening_wave_alone_misses_is_named() -> None:
    opening = replace(cell(load=98), requests=588, slo_share=1 - 32 / 588, slo_misses_at_start=32)

    (finding,) = found(missed_at_start, observed([arm()], [opening]))

    assert "are of the opening wave in w4a16 at c98" in finding.text
    assert finding.evidence[-1].endswith("32 of 32 misses among the first 98 of 588")
    assert finding.kind == "unresolved"


def test_misses_all_along_an_slo_that_holds_and_open_loops_are_no_finding() -> None:
    all_along = replace(cell(load=98), requests=588, slo_share=0.8, slo_misses_at_start=40)
    few = replace(cell(load=98), requests=588, slo_share=1 - 2 / 588, slo_misses_at_start=2)
    unknown = replace(cell(load=98), requests=588, slo_share=0.8, slo_misses_at_start=None)
    one_wave = replace(cell(load=98), requests=98, slo_share=0.8, slo_misses_at_start=20)

    assert not found(missed_at_start, observed([arm()], [all_along, few, unknown, one_wave]))


def test_the_opening_wave_is_the_first_request_of_each_stream() -> None:
    records = [replace(record(index, ttft_ms=99 if index in {0, 1, 5} else 9), sent_ns=index) for index in range(6)]
    closed, opened = Cell(0, "bf16", 2, None, 0), Cell(0, "bf16", 2, 10.0, 0)

    assert cell_summary(closed, table_of(closed, records), slo=Slo(ttft_ms=50)).slo_misses_at_start == 2
    assert cell_summary(opened, table_of(opened, records), slo=Slo(ttft_ms=50)).slo_misses_at_start is None
