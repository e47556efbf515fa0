"""A fleet plan on a terminal: the answer first, 80 columns, readable without colour."""

from collections.abc import Iterator, Sequence

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from whichbits.plan.answer import Answer
from whichbits.plan.fleet import FleetDay, Hour
from whichbits.plan.option import Option
from whichbits.plan.prospect import Prospect
from whichbits.plan.trial import bounds_of
from whichbits.report.wording import MISSING, number, plain

_FRONT_SHOWN = 8
_SAME = 1e-6
_FASTER = 0.02
"""Share by which a mix of equal cost must be faster to be worth a sentence."""
_BUSY = 0.85
"""Share of its time from which the process before the engine is called the limit."""


def print_plan(answer: Answer, console: Console) -> None:
    """Print the whole plan."""
    console.print(Group(*_sections(answer)))


def _sections(answer: Answer) -> Iterator[RenderableType]:
    yield Text.assemble((plain(answer.study), "bold"), ("  predicted, a day of ", "dim"), (_day(answer), "dim"))
    yield _section("Answer", Text(_verdict(answer)), *_but_for(answer))
    yield _section(f"A replica: requests/s at which {_goal(answer)}", _prospects(answer.prospects), *_notes(answer))
    if answer.single:
        yield _section("Fleets", _fleets(_compared(answer)), Text(_FLEETS_LEGEND, style="dim"))
    if answer.cheapest is not None:
        yield _section(f"The day, with {answer.headroom:.0%} of the capacity left free", _hours(answer.cheapest))
    if len(answer.front) > 1:
        yield _section("Faster for more money (no other plan beats these)", _fleets(answer.front[:_FRONT_SHOWN]))
    yield _section("If the SLO's bounds were longer or shorter", _what_if(answer))
    if answer.refused:
        yield _section("Cannot be served", *(Text(f"{each.name}: {each.why}") for each in answer.refused))


_FLEETS_LEGEND = "times in ms; TPOT p50, TTFT p99 and good: means over the day's requests"


def _section(title: str, *body: RenderableType) -> RenderableType:
    return Group(Text(""), Text(title, style="bold"), *(Padding(part, (0, 0, 0, 1)) for part in body))


def _day(answer: Answer) -> str:
    hourly = answer.demand.hourly
    requests = answer.demand.requests_per_day
    return f"{requests / 1e6:.2f} million requests, {number(min(hourly))} to {number(max(hourly))} a second"


def _goal(answer: Answer) -> str:
    bounds = " and ".join(
        f"{name.removesuffix('_ms').upper()} {bound:g} ms" for name, bound in bounds_of(answer.goal.slo).items()
    )
    return f"{100 * answer.goal.share:.4g} % hold {bounds}"


def _verdict(answer: Answer) -> str:
    best = answer.cheapest
    if best is None:
        return "No plan meets this.\n" + "\n".join(f"- {each}" for each in answer.binding)
    ends = (
        ""
        if None in (answer.cost_low, answer.cost_high)
        else f" ({_money(answer.cost_low)} to {_money(answer.cost_high)})"
    )
    return (
        f"{_replicas(best)} at most: {_money(best.cost_per_day)} a day,"
        f" {_money(best.cost_per_million_tokens)}{ends} a million output tokens"
    )


def _but_for(answer: Answer) -> Iterator[Text]:
    """Say what a second option buys, or that it buys nothing."""
    best, mixed = answer.cheapest, answer.mixed
    if best is None or mixed is None or not answer.single:
        return
    alone = answer.single[0]
    saved = 1 - mixed.cost_per_day / alone.cost_per_day
    if saved > _SAME:
        yield Text(f"Mixing saves {saved:.0%} against {alone.name} alone.")
    elif saved > -_SAME and mixed.tpot_ms_p50 < (1 - _FASTER) * alone.tpot_ms_p50:
        times = f"{number(alone.tpot_ms_p50)} to {number(mixed.tpot_ms_p50)} ms"
        yield Text(f"{_replicas(mixed)}, by the hour, cost the same and bring TPOT from {times}.")
    else:
        yield Text("Mixing two options buys nothing here.")


def _prospects(prospects: Sequence[Prospect]) -> Table:
    table = _table("option", "requests/s", "95 %", "limit", "price", "1M requests")
    for each in prospects:
        ends = f"{number(each.low)} to {number(each.high)}" if each.high is not None else MISSING
        cost = None if each.capacity is None else each.option.price_per_hour / 3600 / each.capacity * 1e6
        _row(
            table,
            each.option.name,
            "never" if each.capacity is None else number(each.capacity),
            ends,
            _limit(each),
            number(each.option.price_per_hour),
            number(cost),
        )
    return table


def _notes(answer: Answer) -> Iterator[Text]:
    if any((each.front_end_busy or 0) > _BUSY for each in answer.prospects):
        text = (
            "front end: the process before the engine is busy; more of them help (--api-server-count), not fewer bits"
        )
        yield Text(text, style="dim")


def _limit(prospect: Prospect) -> str:
    bound = prospect.bound_by.removesuffix("_ms").upper()
    if prospect.capacity is None:
        return f"{bound} {number(prospect.needs_ms)} ms alone"
    return f"{bound}, front end" if (prospect.front_end_busy or 0) > _BUSY else bound


def _compared(answer: Answer) -> list[FleetDay]:
    """Return the cheapest, the mixed and the single ones, each once."""
    chosen = [
        *([answer.cheapest] if answer.cheapest else []),
        *([answer.mixed] if answer.mixed else []),
        *answer.single,
    ]
    return [day for at, day in enumerate(chosen) if day not in chosen[:at]]


def _fleets(days: Sequence[FleetDay]) -> Table:
    """Return a row a fleet; the interval is that of the cost of a million tokens, where any fleet has one."""
    told = any(day.cost_low is not None or day.cost_high is not None for day in days)
    interval = ["95 %"] if told else []
    table = _table("replicas at most", "a day", "1M tokens", *interval, "TPOT p50", "TTFT p99", "good")
    for day in days:
        ends = [_money(end) if end is not None else MISSING for end in (day.cost_low, day.cost_high)]
        _row(
            table,
            _replicas(day),
            _money(day.cost_per_day),
            _money(day.cost_per_million_tokens),
            *([" to ".join(ends)] if told else []),
            number(day.tpot_ms_p50),
            number(day.ttft_ms_p99),
            f"{day.slo_share:.1%}",
        )
    return table


def _hours(day: FleetDay) -> Table:
    table = _table("hours", "requests/s", "replicas", "full")
    for first, last in _stretches(day.hours):
        hours = day.hours[first : last + 1]
        rates = [hour.rate for hour in hours]
        _row(
            table,
            f"{first:02}-{last + 1:02}",
            " to ".join(dict.fromkeys((number(min(rates)), number(max(rates))))),
            _counted(day.options, hours[0].replicas),
            f"{max(hour.used for hour in hours):.0%}",
        )
    return table


def _stretches(hours: Sequence[Hour]) -> Iterator[tuple[int, int]]:
    """Return first and last hour of each stretch with the same replicas."""
    first = 0
    for at in range(1, len(hours) + 1):
        if at == len(hours) or hours[at].replicas != hours[first].replicas:
            yield first, at - 1
            first = at


def _what_if(answer: Answer) -> Table:
    table = _table("bounds", "cheapest", "a day", "1M tokens")
    for each in answer.what_if:
        name = f"x {each.factor:g}"
        if each.fleet is None:
            bound = (each.bound_by or "").removesuffix("_ms").upper()
            _row(table, name, f"no plan: {bound}" if bound else "no plan", MISSING, MISSING)
        else:
            costs = (_money(each.fleet.cost_per_day), _money(each.fleet.cost_per_million_tokens))
            _row(table, name, _replicas(each.fleet), *costs)
    return table


def _replicas(day: FleetDay) -> str:
    return _counted(day.options, day.most)


def _counted(options: Sequence[Option], replicas: Sequence[int]) -> str:
    return " + ".join(f"{count} {option.name}" for option, count in zip(options, replicas, strict=True) if count)


def _money(value: float | None) -> str:
    """Return a price: cents from one on, three digits below."""
    if value is None:
        return MISSING
    return f"{value:,.2f}" if value >= 1 else f"{value:.3g}"


def _table(*headings: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for heading in headings:
        table.add_column(heading, overflow="fold")
    return table


def _row(table: Table, *cells: str) -> None:
    table.add_row(*(Text(plain(cell)) for cell in cells))
