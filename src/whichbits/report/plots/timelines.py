"""The request timeline of the page: each cell's requests as numbers for its script, with what they show in words."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from whichbits.analyze.amounts import cells_of
from whichbits.analyze.latency.request_timelines import CellRequests, RequestTimes, Sample
from whichbits.language.phrase import joined, phrase
from whichbits.report.wording import load_text, number

TICKS_A_MS = 10
"""Numbers on the page are whole tenths of a millisecond."""

FIELDS = (
    phrase("request"),
    phrase("replica"),
    phrase("planned at (s)"),
    phrase("before its send (ms)"),
    phrase("queue and prefill (ms)"),
    phrase("decode (ms)"),
    phrase("output tokens"),
    phrase("longest gap (ms)"),
    phrase("ended"),
)
"""What is told of a request, in the order of the table that the script fills."""

LEGEND = {
    "wait": phrase("before its send"),
    "prefill": phrase("queue and prefill, to the first token"),
    "decode": phrase("decode"),
    "gap": phrase("longest gap between its tokens"),
    "lost": phrase("failed"),
}


@dataclass(frozen=True)
class Panel:
    """A cell of the timeline. ``data`` has a line a request: its times in tenths of a ms since the first plan.

    A line is ``index replica planned sent first last ended tokens gap_from gap error`` with commas between and
    nothing for what is not known; ``replica`` and ``error`` are places in the names of the timeline, from 1.
    """

    arm: str
    load: str
    repeat: int
    shown: str
    facts: str
    data: str


@dataclass(frozen=True)
class Timeline:
    """The panels; the one at ``first`` is seen before another is chosen."""

    panels: tuple[Panel, ...]
    names: tuple[str, ...]
    first: int
    left_out: str

    @property
    def choices(self) -> dict[str, tuple[str, ...]]:
        """What can be chosen: arms, loads, and repeats, those that there are, in their order."""
        return {
            key: tuple(dict.fromkeys(str(getattr(panel, key)) for panel in self.panels))
            for key in ("arm", "load", "repeat")
        }


def timeline(cells: Sequence[CellRequests], of: int) -> Timeline | None:
    """Return the timeline of a run of ``of`` cells; None if no request's times are known."""
    if not cells:
        return None
    names: dict[str, int] = {}
    panels = tuple(_panel(each, names) for each in cells)
    left_out = phrase("{cells} can be chosen.", cells=cells_of(len(cells), of)) if len(cells) < of else ""
    return Timeline(panels, tuple(names), _first(cells), left_out)


def _first(cells: Sequence[CellRequests]) -> int:
    """Return the place of the first arm's first repeat under the highest load: most happens there."""
    first_arm = cells[0].cell.arm

    def load(place: int) -> tuple[float, int, int]:
        cell = cells[place].cell
        return (cell.request_rate or 0.0, cell.concurrency or 0, -cell.repeat)

    return max((place for place, each in enumerate(cells) if each.cell.arm == first_arm), key=load)


def _panel(each: CellRequests, names: dict[str, int]) -> Panel:
    cell = each.cell
    return Panel(
        arm=cell.arm,
        load=load_text(cell),
        repeat=cell.repeat + 1,
        shown=phrase(
            "{arm} at {load}, repeat {repeat}: {shown}",
            arm=cell.arm,
            load=load_text(cell),
            repeat=cell.repeat + 1,
            shown=shown_text(each.sample),
        ),
        facts=facts_text(each),
        data="\n".join(_line(request, names) for request in each.requests),
    )


def shown_text(sample: Sample) -> str:
    """Return how many requests are shown, and by which rule they were chosen."""
    if sample.whole:
        if sample.total == 1:
            return phrase("the only request.")
        return phrase("all {total:,} requests, in the order of their sends.", total=sample.total)
    taken = (
        (sample.failed, phrase("{count} that failed", count=sample.failed)),
        (sample.slow_to_first, phrase("the {count} slowest to the first token", count=sample.slow_to_first)),
        (sample.slow_in_all, phrase("the {count} slowest of the rest in all", count=sample.slow_in_all)),
        (sample.long_gaps, phrase("the {count} of the rest with the longest gaps", count=sample.long_gaps)),
        (sample.even, phrase("{count} spaced evenly over what is left", count=sample.even)),
    )
    return phrase(
        "{shown} of {total:,} requests shown, in the order of their sends: {chosen}. Slow and failed ones are more "
        "frequent here than in the cell.",
        shown=sample.shown,
        total=sample.total,
        chosen=joined(", ", (words for count, words in taken if count)),
    )


def facts_text(each: CellRequests) -> str:
    """Return what stands out, for those who cannot see it; a sample holds the slowest, so it is true of the cell."""
    answered = [request for request in each.requests if request.error is None and request.first_ms is not None]
    return joined(
        " ",
        (
            phrase("Last end after {seconds} s.", seconds=number(max(r.ended_ms for r in each.requests) / 1e3)),
            phrase("Failed: {failed:,}.", failed=each.failed),
            *_slowest_first_token(answered),
            *_longest_gap([request for request in answered if request.gap_ms is not None]),
        ),
    )


def _slowest_first_token(answered: Sequence[RequestTimes]) -> Iterator[str]:
    if answered:
        slow = max(answered, key=lambda request: (request.first_ms or 0.0) - request.planned_ms)
        yield phrase(
            "Slowest first token: {ms} ms (request {index}, planned at {at} s).",
            ms=number((slow.first_ms or 0.0) - slow.planned_ms),
            index=slow.index,
            at=number(slow.planned_ms / 1e3),
        )


def _longest_gap(with_gaps: Sequence[RequestTimes]) -> Iterator[str]:
    if with_gaps:
        still = max(with_gaps, key=lambda request: request.gap_ms or 0.0)
        yield phrase(
            "Longest gap between tokens: {ms} ms (request {index}, from {at} s).",
            ms=number(still.gap_ms),
            index=still.index,
            at=number((still.gap_from_ms or 0.0) / 1e3),
        )


def _line(request: RequestTimes, names: dict[str, int]) -> str:
    times = (
        *(request.planned_ms, request.sent_ms, request.first_ms, request.last_ms, request.ended_ms),
        *(request.gap_from_ms, request.gap_ms),
    )
    ticks = [None if time is None else round(TICKS_A_MS * time) for time in times]
    name, error = (
        None if told is None else names.setdefault(told, len(names) + 1) for told in (request.replica, request.error)
    )
    fields = (request.index, name, *ticks[:5], request.output_tokens, *ticks[5:], error)
    return ",".join("" if field is None else str(field) for field in fields)
