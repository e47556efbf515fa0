"""Rates of a day: given, along a curve, from a trace."""

import pytest
from pydantic import ValidationError

from whichbits.errors import BadInput
from whichbits.plan.day import hourly_rates
from whichbits.study.fleet import Day


def test_given_rates_grow() -> None:
    rates = tuple(float(hour) for hour in range(24))
    assert hourly_rates(Day(rates=rates, growth=1.5)) == tuple(1.5 * rate for rate in rates)


def test_a_curve_has_its_peak_its_trough_and_their_middle() -> None:
    rates = hourly_rates(Day(peak=40, trough=0.1, peak_hour=15))
    assert rates[15] == 40
    assert rates[3] == pytest.approx(4)
    assert rates[9] == rates[21] == pytest.approx(22)


def test_a_trace_of_two_days_is_averaged_by_the_hour() -> None:
    """Hour 0 has 7200 requests on one day and none on the next, hour 1 has 3600 each: one a second in both."""
    first = [at * 0.5 for at in range(7200)]
    both = [3600.0 + at for at in range(3600)] + [3600 * 25.0 + at for at in range(3600)]
    last = [3600 * 47 + 1.0]
    rates = hourly_rates(Day(), first + both + last)
    assert rates[0] == rates[1] == pytest.approx(1)
    assert rates[2] == 0
    assert rates[23] == pytest.approx(1 / 7200)


@pytest.mark.parametrize("arrivals", [[], [0.0, 3600.0]])
def test_without_a_curve_or_a_day_of_trace_nothing_is_guessed(arrivals: list[float]) -> None:
    with pytest.raises(BadInput, match="each hour") as caught:
        hourly_rates(Day(), arrivals)
    assert caught.value.code == "day_unknown"


@pytest.mark.parametrize("given", [{"rates": (1.0,)}, {"rates": (0.0,) * 24}, {"rates": (1.0,) * 24, "peak": 2}])
def test_a_day_that_is_none_is_refused(given: dict[str, float]) -> None:
    with pytest.raises(ValidationError):
        Day.model_validate(given)
