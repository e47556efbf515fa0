"""How the cells went: their steady windows and drains, the rates of open loops, and the warm-up before them."""

from collections import Counter
from typing import Any

from whichbits.analyze.load.steady import SteadyState
from whichbits.analyze.summary import CellSummary, Summary, WarmUp
from whichbits.language.phrase import phrase
from whichbits.record.schema import Manifest
from whichbits.report.cells.pooled import Pooled, Reading, by_arm
from whichbits.report.sheets.sheet import Sheet
from whichbits.report.wording import MISSING, number, share_text

_REASONS = {
    "ramp": phrase("none: a ramp"),
    "stages": phrase("none: stages"),
    "nothing_answered": phrase("none: no answer"),
    "too_short": phrase("none: too short"),
    "throughput_drifts": phrase("none: tokens/s drift"),
    "in_flight_grows": phrase("none: a queue grows"),
    "arrivals_vary": phrase("none: arrivals vary"),
}
_STABLE = {True: phrase("settled"), False: phrase("gave up"), None: MISSING}


def steady_windows(summary: Summary, _: Manifest) -> Sheet | None:
    """Return a row an arm and load; None where no cell's requests are known."""
    known = [each for each in by_arm(summary) if any(cell.drain is not None for cell in each.counted)]
    if not known:
        return None
    return Sheet(
        name="steady-windows",
        title=phrase("Steady window and drain"),
        meaning=phrase(
            "Throughput within the steady window beside that of the whole cell, medians of the repeats. The "
            "window lies between the ramp, a slow start if there was one, and the last send; the drain is "
            "from there to the last answer; shares are of the cell. In flight is an average over time, and "
            "the most at any moment."
        ),
        headings=(
            *(
                phrase("arm"),
                phrase("load"),
                phrase("steady from, to (s)"),
                phrase("share"),
                phrase("tokens/s in it"),
                phrase("of all"),
                phrase("drain s"),
            ),
            *(phrase("share"), phrase("in flight"), phrase("most")),
        ),
        rows=tuple(_window_row(each) for each in known),
        words=3,
    )


def rates(summary: Summary, _: Manifest) -> Sheet | None:
    """Return a row an arm and load with a rate; None in closed loops."""
    known = [each for each in by_arm(summary) if any(cell.arrival_rates for cell in each.counted)]
    if not known:
        return None
    return Sheet(
        name="arrival-rates",
        title=phrase("Requested and achieved rates"),
        meaning=phrase(
            "Requests a second, medians of the repeats. Arrivals are drawn: what was planned differs from "
            "what was asked by chance. Served counts good answers within the steady window. The wait is from "
            "the scheduled send to the actual one, in ms, which TTFT contains and TTFT from send does not."
        ),
        headings=(
            *(
                phrase("arm"),
                phrase("load"),
                phrase("asked"),
                phrase("planned"),
                phrase("sent"),
                phrase("sent, steady"),
                phrase("served, steady"),
            ),
            *(phrase("wait p50"), phrase("p99"), phrase("TTFT p50"), phrase("from send")),
        ),
        rows=tuple(_rates_row(each) for each in known),
        words=2,
    )


def warm_ups(summary: Summary, _: Manifest) -> Sheet | None:
    """Return an arm a row; None if none was warmed."""
    known = {arm: told.warm_up for arm, told in summary.arms.items() if told.warm_up is not None}
    if not known:
        return None
    return Sheet(
        name="warm-up",
        title=phrase("Warm-up"),
        meaning=phrase(
            "Rounds of the study's own traffic until the median pace of two in a row agrees within the "
            "study's bound, before the arm's first cell. None of it is measured."
        ),
        headings=(
            phrase("arm"),
            phrase("outcome"),
            phrase("rounds"),
            phrase("seconds"),
            phrase("first ms a token"),
            phrase("last"),
        ),
        rows=tuple(_warm_up_row(arm, told) for arm, told in known.items()),
        words=2,
    )


def _window_row(each: Pooled) -> tuple[str, ...]:
    return (
        each.arm,
        each.load_text,
        _window_text(each),
        share_text(each.median(_part("steady", "share"))),
        number(each.median(lambda cell: cell.steady_output_tokens_per_s)),
        number(each.median(lambda cell: cell.output_tokens_per_s)),
        number(each.median(_part("drain", "seconds"))),
        share_text(each.median(_part("drain", "share"))),
        number(each.median(lambda cell: cell.mean_concurrency)),
        _whole(each.median(lambda cell: cell.peak_concurrency)),
    )


def _whole(value: float | None) -> str:
    return MISSING if value is None else f"{value:g}"


def _window_text(each: Pooled) -> str:
    """Return the window of the only repeat, or of all that have one; else why they have none."""
    told: list[SteadyState] = [cell.steady for cell in each.counted if cell.steady is not None]
    windows = [state for state in told if state.reason is None]
    if windows:
        some = (
            phrase(" ({count} of {count_2})", count=len(windows), count_2=len(told)) if len(windows) < len(told) else ""
        )
        start, end = (each.median(_part("steady", name)) for name in ("start_s", "end_s"))
        return phrase("{start} to {end}{some}", start=number(start), end=number(end), some=some)
    reasons = Counter(state.reason for state in told if state.reason is not None)
    return _REASONS[reasons.most_common(1)[0][0]] if reasons else MISSING


def _rates_row(each: Pooled) -> tuple[str, ...]:
    named = ("asked", "planned", "sent", "steady_sent", "steady_served")
    return (
        each.arm,
        each.load_text,
        *(number(each.median(_part("arrival_rates", name))) for name in named),
        number(each.median(_part("send_wait_ms", "p50"))),
        number(each.median(_part("send_wait_ms", "p99"))),
        number(each.median(lambda cell: cell.ttft_ms.p50)),
        number(each.median(lambda cell: cell.ttft_from_send_ms.p50)),
    )


def _part(holder: str, name: str) -> Reading:
    """Return a reader of one number of an object of the cell, which may be missing."""

    def read(cell: CellSummary) -> float | None:
        told: Any = getattr(cell, holder)
        value: float | None = None if told is None else getattr(told, name)
        return value

    return read


def _warm_up_row(arm: str, told: WarmUp) -> tuple[str, ...]:
    paces = (told.rounds_ms[0], told.rounds_ms[-1])
    return (arm, _STABLE[told.stable], str(len(told.rounds_ms)), number(told.seconds), *map(number, paces))
