"""A tail that tells another story than its median is named, and one that is merely noisy is not."""

from dataclasses import replace

from tests.analyze.make_cell import summary
from whichbits.analyze.crossings.crossover import crossover, crossovers
from whichbits.analyze.crossings.tails import lost_leads, tails_apart, tails_not_compared
from whichbits.analyze.summary import CellSummary, Distribution

LOADS = (1, 4, 16, 64)


def cells(median: tuple[float, ...], tail: tuple[float, ...], n: int = 2000, repeats: int = 3) -> list[CellSummary]:
    """Two arms whose ratios of median and p99 TPOT are given at each load; repeats differ by half a percent."""
    thin = ("p90", "p99") if n < 100 else ()
    return [
        replace(place, tpot_ms=Distribution(n, p50, p50, p50, p99, thin))
        for repeat in range(repeats)
        for load, p50_ratio, p99_ratio in zip(LOADS, median, tail, strict=True)
        for arm, wobble in (("a", 1 + 0.005 * (repeat - 1)), ("b", 1.0))
        for place in [summary(arm, load, 1.0, repeat)]
        for p50, p99 in [(p50_ratio * wobble, 3 * p99_ratio * wobble) if arm == "a" else (1.0, 3.0)]
    ]


def test_a_tail_that_crosses_earlier_is_told_with_both_crossings() -> None:
    found = crossovers(cells((0.7, 0.8, 0.9, 1.2), (0.8, 1.2, 1.3, 1.5)), ("a", "b"))

    texts = [finding.text for finding in tails_apart(found)]

    assert len(texts) == 1
    assert "median TPOT crosses at 27 (24 to 30)" in texts[0]
    assert "p99 TPOT crosses at 2.1" in texts[0]


def test_a_lead_lost_in_the_tail_is_named_with_its_loads() -> None:
    both = cells((0.7, 0.7, 0.7, 0.7), (0.7, 0.7, 1.0, 1.01))
    middle, tail = (crossover(both, ("a", "b"), metric) for metric in ("tpot_ms.p50", "tpot_ms.p99"))

    (finding,) = tails_apart(crossovers(both, ("a", "b")))

    assert lost_leads(middle, tail) == [16, 64]
    assert "a / b at 16: median TPOT 0.70, p99 TPOT 1.00" in finding.evidence


def test_a_tail_that_agrees_is_not_mentioned() -> None:
    assert list(tails_apart(crossovers(cells((0.7, 0.8, 0.9, 1.2), (0.6, 0.8, 0.9, 1.2)), ("a", "b")))) == []


def test_thin_tails_are_not_compared_and_that_is_said() -> None:
    found = crossovers(cells((0.7, 0.8, 0.9, 1.2), (0.8, 1.2, 1.3, 1.5), n=50), ("a", "b"))

    (finding,) = tails_not_compared(found)

    assert "tpot_ms.p99" not in {each.metric for each in found}
    assert "p90 TPOT, p99 TPOT" in finding.text
    assert list(tails_apart(found)) == []


def test_a_tail_thin_in_some_cells_is_compared_in_the_others_and_that_is_said() -> None:
    some = cells((0.7, 0.8, 0.9, 1.2), (0.8, 1.2, 1.3, 1.5))
    some[0] = replace(some[0], tpot_ms=replace(some[0].tpot_ms, thin=("p99",)))

    found = crossover(some, ("a", "b"), "tpot_ms.p99")

    assert len(found.loads) == len(LOADS)
    assert "not compared in 1 of 24 cells: fewer than 10 samples beyond the percentile" in (found.note or "")


def test_without_intervals_no_lead_is_beyond_doubt() -> None:
    both = cells((0.7, 0.7, 0.7, 0.7), (0.7, 0.7, 1.0, 1.01))
    middle, tail = (crossover(both, ("a", "b"), metric) for metric in ("tpot_ms.p50", "tpot_ms.p99"))

    assert lost_leads(middle, replace(tail, ratio_intervals=())) == []
