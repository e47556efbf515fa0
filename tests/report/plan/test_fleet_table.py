"""What a plan's table says in words: mixing, front ends, intervals that are not known."""

from dataclasses import replace
from io import StringIO

from rich.console import Console

from tests.plan.fleets import demand, option, prospect, with_interval
from whichbits.plan.answer import Answer
from whichbits.plan.fleet import FleetDay, Room, fleet_day
from whichbits.plan.prospect import Goal, Prospect
from whichbits.report.plan.fleet_table import print_plan
from whichbits.study.model import Slo


def day(*prospects: Prospect) -> FleetDay:
    found = fleet_day(prospects, demand(7, 1), Room(1.0))
    assert found is not None
    return found


def said(prospects: list[Prospect], single: FleetDay, mixed: FleetDay | None, front: tuple[FleetDay, ...] = ()) -> str:
    cheapest = mixed if mixed is not None and mixed.cost_per_day < single.cost_per_day else single
    answer = Answer(
        study="by hand",
        goal=Goal(Slo(tpot_ms=50), 0.99),
        headroom=0.0,
        demand=demand(7, 1),
        prospects=tuple(prospects),
        refused=(),
        cheapest=cheapest,
        cost_low=None,
        cost_high=None,
        single=(single,),
        mixed=mixed,
        front=front,
        what_if=(),
        binding=(),
        rests_on={},
    )
    page = StringIO()
    print_plan(answer, Console(file=page, width=80, no_color=True))
    return " ".join(page.getvalue().split())


W4A16 = prospect(option("w4a16"), 4.0, 10.0)
W8A8 = prospect(option("w8a8"), 8.0, 15.0)


def test_formats_by_the_hour_that_cost_the_same_are_said_to_be_faster() -> None:
    text = said([W4A16, W8A8], day(W8A8), day(W4A16, W8A8))
    assert "1 w4a16 on L4 + 1 w8a8 on L4, by the hour, cost the same and bring TPOT from" in text


def test_what_mixing_saves_is_said() -> None:
    """Two GPUs of 1 an hour carry 7 requests/s and one of them 1; with a small one at 0.5 the night costs half."""
    small = prospect(option("small", 0.5, "A10"), 1.0)
    alone = day(W4A16)
    mixed = day(W4A16, small)
    saved = 1 - mixed.cost_per_day / alone.cost_per_day
    assert saved > 0.1
    assert f"Mixing saves {saved:.0%} against w4a16 on L4 alone." in said([W4A16, small], alone, mixed)


def test_a_mix_that_is_dearer_buys_nothing() -> None:
    dear = prospect(option("dear", 9.0, "H200"), 8.0)
    mixed = replace(day(W8A8, dear), cost_per_day=1e6)
    assert "Mixing two options buys nothing here." in said([W8A8, dear], day(W8A8), mixed)


def test_a_front_end_that_is_the_limit_is_named() -> None:
    busy = replace(W8A8, front_end_busy=0.95)
    assert "TPOT, front end" in said([busy], day(busy), None)
    assert "front end" not in said([W8A8], day(W8A8), None)


def test_an_interval_whose_lower_end_is_not_known_says_so() -> None:
    known = with_interval(W8A8, 5.0, 9.0)
    assert "5.00 to 9.00" in said([known], day(known), None)
    half = replace(known, low=None)
    assert "– to 9.00" in said([half], day(half), None)  # noqa: RUF001 - what stands for nothing in tables


def test_fleets_of_one_size_are_told_apart_by_how_long_they_are_up() -> None:
    whole, half = day(W8A8), day(W8A8)
    half = replace(half, hours=half.hours[:12])
    up = [sum(sum(hour.replicas) for hour in each.hours) for each in (whole, half)]
    page = said([W8A8], whole, None, (half, whole))

    assert up[0] > up[1]
    for hours, fleet in zip(up, (whole, half), strict=True):
        assert f"w8a8 on {W8A8.option.gpu} {hours} {fleet.cost_per_day:,.2f}" in page
