"""What stands beside an answer: loads left out, drains; and rows of which the client limited some repeats only."""

from dataclasses import replace

from tests.analyze.make_cell import summaries
from tests.report.make_summary import make_summary, repeated
from whichbits.analyze.answer.recommend import recommend
from whichbits.analyze.curves.drain import is_drained
from whichbits.analyze.summary import LeftOut, Recommendation, SloCapacity, Summary
from whichbits.report.answer.stretches import answers
from whichbits.report.answer.validity import answer_text, doubts, loads_text
from whichbits.report.cells.table import groups
from whichbits.report.sheets.slo import capacity_text

LIMIT = "the client was the limit"


def answered(**more: object) -> tuple[Recommendation, Summary]:
    entry = replace(
        Recommendation("output_tokens_per_s", (("fp16", None, None),), "fp16", loads=(4.0, 16.0, 32.0)),
        **more,  # type: ignore[arg-type]
    )
    cells = tuple(replace(cell, requests=64 * (cell.concurrency or 1), failed=0) for cell in make_summary(None).cells)
    return entry, replace(make_summary(), cells=cells, recommendation=(entry,))


def test_loads_left_out_stand_beside_the_answer_and_shrink_its_range() -> None:
    entry, summary = answered(left_out=(LeftOut(1, LIMIT, 2, 2), LeftOut(4, LIMIT, 1, 2)))

    assert doubts(entry, summary, beside_text=True) == (
        f"c1 left out: {LIMIT}",
        f"1 of 2 repeats of c4 left out: {LIMIT}",
    )
    assert loads_text(summary) == "4 to 32"


def test_loads_stand_beside_a_metric_that_was_compared_at_others_than_the_rest() -> None:
    ratios = {"a": {1: 1.0, 8: 1.0}, "b": {1: 2.0, 8: 2.0}}
    found = recommend(summaries(ratios), ["a", "b"], "tpot_ms.p50")
    less = recommend(summaries({arm: {8: 1.0} for arm in ratios} | {"a": {8: 2.0}}), ["a", "b"], "ttft_ms.p50")
    assert found is not None
    assert less is not None
    summary = replace(make_summary(), recommendation=(found, less))

    assert answer_text(found, summary) == "a throughout"
    assert answer_text(less, summary) == "b (compared at 8)"
    assert [each.segments[0].extent for each in answers(summary)] == ["at every load compared", "at 8"]


def test_a_drain_is_a_doubt_of_throughput_and_of_no_latency() -> None:
    entry, summary = answered()
    cells = (replace(cell, requests=cell.concurrency or 1, steady_output_tokens_per_s=None) for cell in summary.cells)
    short = replace(summary, cells=tuple(cells))

    assert is_drained(short.cells[-1])
    assert doubts(entry, short, beside_text=True) == ("all 12 cells hold a drain",)
    assert not any("drain" in each for each in doubts(replace(entry, metric="tpot_ms.p50"), short, beside_text=True))


def test_a_stretch_that_nothing_decides_belongs_to_no_arm() -> None:
    _, summary = answered(
        ranges=(("fp16", None, 8.0), ("w4a8", 8.0, None)),
        uncertain=(None,),
        undecided=((4.0, 16.0),),
        stretches=((("fp16", "w4a8"), None, 16.0), (("w4a8",), 16.0, None)),
    )

    (found,) = answers(summary)

    assert [(each.arm, each.extent, each.doubt) for each in found.segments] == [
        ("fp16 / w4a8", "up to 16", "not told apart"),
        ("w4a8", "from 16", ""),
    ]
    assert [round(each.share, 3) for each in found.segments] == [0.667, 0.333]
    assert [each.level for each in found.segments] == [True, False]


def test_who_may_be_as_good_as_a_leader_stands_below_its_name() -> None:
    stretches = ((("fp16",), None, 8.0), (("w4a8",), 8.0, None))
    _, summary = answered(
        ranges=(("fp16", None, 8.0), ("w4a8", 8.0, None)),
        uncertain=((6.0, 9.0),),
        stretches=stretches,
        level_with=("w8a8 at 4", ""),
    )

    (found,) = answers(summary)

    assert [each.doubt for each in found.segments] == ["either arm from 6 to 9; not told apart from w8a8 at 4", ""]
    assert [each.level for each in found.segments] == [True, False]


def test_where_nobody_says_who_may_be_as_good_a_noisy_pair_of_the_leader_is_level() -> None:
    _, summary = answered(metric="tpot_ms.p50")
    noisy = replace(summary.crossovers[0], verdict="noisy")

    assert noisy.arms == ("fp16", "w8a8")
    assert answers(replace(summary, crossovers=(noisy,)))[0].level
    assert not answers(replace(summary, crossovers=(replace(noisy, arms=("w8a8", "w4a16")),)))[0].level
    assert not answers(replace(summary, crossovers=(replace(noisy, metric="ttft_ms.p50"),)))[0].level


def test_a_row_of_which_one_repeat_was_limited_says_so_and_shows_the_other() -> None:
    summary = repeated(make_summary(failed=None))
    cells = tuple(replace(c, client_verdict="client_limited" if c.repeat == 1 else "client_ok") for c in summary.cells)

    row = groups(replace(summary, cells=cells))[0][0]

    assert row.verdict == "1 of 2 LIMITED"
    assert row.values["tpot_ms.p50"].number == make_summary().cells[0].tpot_ms.p50


def test_an_slo_that_is_broken_where_the_client_kept_up_is_not_known_below() -> None:
    broken = SloCapacity("a", 0.99, None, None, 20, False, left_out=(LeftOut(2, LIMIT, 2, 2),), lowest=20)

    assert capacity_text(broken) == f"not known: {LIMIT} at 2"
    assert capacity_text(replace(broken, left_out=())) == "not even at the lowest load"
