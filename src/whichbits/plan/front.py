"""The plans that no other beats: cheaper, faster for users, or good for more of them."""

from collections.abc import Sequence

from whichbits.plan.fleet import FleetDay


def front(days: Sequence[FleetDay]) -> tuple[FleetDay, ...]:
    """Return the days that no other equals or beats in cost, median TPOT and share of good requests; cheapest first."""
    kept: list[FleetDay] = []
    for day in sorted(days, key=lambda day: (day.cost_per_day, day.tpot_ms_p50, -day.slo_share)):
        if not any(_covers(other, day) for other in kept):
            kept.append(day)
    return tuple(kept)


def _covers(one: FleetDay, other: FleetDay) -> bool:
    """Whether ``one``, which costs no more, is at least as fast and as good, to a thousandth."""
    faster = one.tpot_ms_p50 <= other.tpot_ms_p50 * 1.001
    return faster and one.slo_share >= other.slo_share - 0.001
