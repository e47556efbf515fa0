"""A fleet plan on a terminal: the answer first, 80 columns, readable without colour."""

from collections.abc import Iterator, Sequence

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from whichbits.language.language import ENGLISH, Language
from whichbits.language.phrase import joined, listed, phrase
from whichbits.language.recognition import tell
from whichbits.plan.answer import Answer
from whichbits.plan.fleet import FleetDay, Hour
from whichbits.plan.option import Option
from whichbits.plan.prospect import Prospect
from whichbits.plan.trial import bounds_of
from whichbits.report.fitted import Fitted
from whichbits.report.wording import MISSING, number, plain

_FRONT_SHOWN = 8
_SAME = 1e-6
_FASTER = 0.02
"""Share by which a mix of equal cost must be faster to be worth a sentence."""
_BUSY = 0.85
"""Share of its time from which the process before the engine is called the limit."""


def print_plan(answer: Answer, console: Console, spoken: Language = ENGLISH) -> None:
    """Print the whole plan."""
    console.print(Group(*_sections(answer, spoken)))


def _sections(answer: Answer, spoken: Language) -> Iterator[RenderableType]:
    say = spoken.say
    day = phrase("predicted, a day of {requests}", requests=_day(answer))
    yield Text.assemble((plain(answer.study), "bold"), (f"  {say(day)}", "dim"))
    yield _section(say(phrase("Answer")), *(Text(say(each)) for each in (_verdict(answer, spoken), *_but_for(answer))))
    replica = phrase("A replica: requests/s at which {goal}", goal=_goal(answer))
    yield _section(
        say(replica),
        _prospects(answer.prospects, spoken),
        *(Text(say(each), style="dim") for each in _notes(answer)),
    )
    if answer.single:
        yield _section(
            say(phrase("Fleets")), _fleets(_compared(answer), spoken), Text(say(_FLEETS_LEGEND), style="dim")
        )
    if answer.cheapest is not None:
        free = phrase("The day, with {headroom:.0%} of the capacity left free", headroom=answer.headroom)
        yield _section(say(free), _hours(answer.cheapest, spoken))
    if len(answer.front) > 1:
        faster = phrase("Faster for more money (no other plan beats these)")
        yield _section(say(faster), _fleets(answer.front[:_FRONT_SHOWN], spoken))
    yield _section(say(phrase("If the SLO's bounds were longer or shorter")), _what_if(answer, spoken))
    if answer.refused:
        refused = (Text(f"{each.name}: {tell(each.why, spoken)}") for each in answer.refused)
        yield _section(say(phrase("Cannot be served")), *refused)


_IN_WORDS = ("option", "limit", "replicas at most", "hours", "replicas", "bounds", "cheapest")
"""Headings of columns that hold names; the others hold numbers."""

_FLEETS_LEGEND = phrase("times in ms; TPOT p50, TTFT p99 and good: means over the day's requests")


def _section(title: str, *body: RenderableType) -> RenderableType:
    return Group(Text(""), Text(title, style="bold"), *(Padding(_fitted(part), (0, 0, 0, 1)) for part in body))


def _fitted(part: RenderableType) -> RenderableType:
    return Fitted(part) if isinstance(part, Table) else part


def _day(answer: Answer) -> str:
    hourly = answer.demand.hourly
    requests = answer.demand.requests_per_day
    return phrase(
        "{requests} million requests, {low} to {high} a second",
        requests=f"{requests / 1e6:.2f}",
        low=number(min(hourly)),
        high=number(max(hourly)),
    )


def _goal(answer: Answer) -> str:
    bounds = [f"{name.removesuffix('_ms').upper()} {bound:g} ms" for name, bound in bounds_of(answer.goal.slo).items()]
    return phrase("{share:.4g} % hold {bounds}", share=100 * answer.goal.share, bounds=listed(bounds))


def _verdict(answer: Answer, spoken: Language) -> str:
    best = answer.cheapest
    if best is None:
        return joined("\n", [phrase("No plan meets this."), *(f"- {tell(each, spoken)}" for each in answer.binding)])
    ends = (
        ""
        if None in (answer.cost_low, answer.cost_high)
        else phrase(" ({low} to {high})", low=_money(answer.cost_low), high=_money(answer.cost_high))
    )
    return phrase(
        "{replicas} at most: {day} a day, {tokens}{interval} a million output tokens",
        replicas=_replicas(best),
        day=_money(best.cost_per_day),
        tokens=_money(best.cost_per_million_tokens),
        interval=ends,
    )


def _but_for(answer: Answer) -> Iterator[str]:
    """Say what a second option buys, or that it buys nothing."""
    best, mixed = answer.cheapest, answer.mixed
    if best is None or mixed is None or not answer.single:
        return
    alone = answer.single[0]
    saved = 1 - mixed.cost_per_day / alone.cost_per_day
    if saved > _SAME:
        yield phrase("Mixing saves {saved:.0%} against {name} alone.", saved=saved, name=alone.name)
    elif saved > -_SAME and mixed.tpot_ms_p50 < (1 - _FASTER) * alone.tpot_ms_p50:
        yield phrase(
            "{replicas}, by the hour, cost the same and bring TPOT from {before} to {after} ms.",
            replicas=_replicas(mixed),
            before=number(alone.tpot_ms_p50),
            after=number(mixed.tpot_ms_p50),
        )
    else:
        yield phrase("Mixing two options buys nothing here.")


def _prospects(prospects: Sequence[Prospect], spoken: Language) -> Table:
    headings = (phrase("option"), phrase("requests/s"), "95 %", phrase("limit"), phrase("price"), phrase("1M requests"))
    table = _table(headings, spoken)
    for each in prospects:
        ends = MISSING if each.high is None else _ends(number(each.low), number(each.high))
        cost = None if each.capacity is None else each.option.price_per_hour / 3600 / each.capacity * 1e6
        _row(
            table,
            each.option.name,
            phrase("never") if each.capacity is None else number(each.capacity),
            ends,
            _limit(each),
            number(each.option.price_per_hour),
            number(cost),
            spoken=spoken,
        )
    return table


def _notes(answer: Answer) -> Iterator[str]:
    if any((each.front_end_busy or 0) > _BUSY for each in answer.prospects):
        yield phrase(
            "front end: the process before the engine is busy; more of them help (--api-server-count), not fewer bits"
        )


def _limit(prospect: Prospect) -> str:
    bound = prospect.bound_by.removesuffix("_ms").upper()
    if prospect.capacity is None:
        return phrase("{bound} {needs} ms alone", bound=bound, needs=number(prospect.needs_ms))
    return phrase("{bound}, front end", bound=bound) if (prospect.front_end_busy or 0) > _BUSY else bound


def _compared(answer: Answer) -> list[FleetDay]:
    """Return the cheapest, the mixed and the single ones, each once."""
    chosen = [
        *([answer.cheapest] if answer.cheapest else []),
        *([answer.mixed] if answer.mixed else []),
        *answer.single,
    ]
    return [day for at, day in enumerate(chosen) if day not in chosen[:at]]


def _fleets(days: Sequence[FleetDay], spoken: Language) -> Table:
    """Return a row a fleet; the interval is that of the cost of a million tokens, where any fleet has one."""
    told = any(day.cost_low is not None or day.cost_high is not None for day in days)
    interval = ["95 %"] if told else []
    headings = (phrase("replicas at most"), phrase("a day"), phrase("1M tokens"), *interval)
    table = _table((*headings, "TPOT p50", "TTFT p99", phrase("good")), spoken)
    for day in days:
        ends = [_money(end) if end is not None else MISSING for end in (day.cost_low, day.cost_high)]
        _row(
            table,
            _replicas(day),
            _money(day.cost_per_day),
            _money(day.cost_per_million_tokens),
            *([_ends(*ends)] if told else []),
            number(day.tpot_ms_p50),
            number(day.ttft_ms_p99),
            f"{day.slo_share:.1%}",
            spoken=spoken,
        )
    return table


def _hours(day: FleetDay, spoken: Language) -> Table:
    table = _table((phrase("hours"), phrase("requests/s"), phrase("replicas"), phrase("full")), spoken)
    for first, last in _stretches(day.hours):
        hours = day.hours[first : last + 1]
        rates = [hour.rate for hour in hours]
        _row(
            table,
            f"{first:02}-{last + 1:02}",
            _ends(*dict.fromkeys((number(min(rates)), number(max(rates))))),
            _counted(day.options, hours[0].replicas),
            f"{max(hour.used for hour in hours):.0%}",
            spoken=spoken,
        )
    return table


def _stretches(hours: Sequence[Hour]) -> Iterator[tuple[int, int]]:
    """Return first and last hour of each stretch with the same replicas."""
    first = 0
    for at in range(1, len(hours) + 1):
        if at == len(hours) or hours[at].replicas != hours[first].replicas:
            yield first, at - 1
            first = at


def _what_if(answer: Answer, spoken: Language) -> Table:
    table = _table((phrase("bounds"), phrase("cheapest"), phrase("a day"), phrase("1M tokens")), spoken)
    for each in answer.what_if:
        name = f"x {each.factor:g}"
        if each.fleet is None:
            bound = (each.bound_by or "").removesuffix("_ms").upper()
            none = phrase("no plan: {bound}", bound=bound) if bound else phrase("no plan")
            _row(table, name, none, MISSING, MISSING, spoken=spoken)
        else:
            costs = (_money(each.fleet.cost_per_day), _money(each.fleet.cost_per_million_tokens))
            _row(table, name, _replicas(each.fleet), *costs, spoken=spoken)
    return table


def _replicas(day: FleetDay) -> str:
    return _counted(day.options, day.most)


def _counted(options: Sequence[Option], replicas: Sequence[int]) -> str:
    rented = ((count, option) for option, count in zip(options, replicas, strict=True) if count)
    return joined(" + ", (phrase("{count} {option}", count=count, option=option.name) for count, option in rented))


def _money(value: float | None) -> str:
    """Return a price: cents from one on, three digits below."""
    if value is None:
        return MISSING
    return f"{value:,.2f}" if value >= 1 else f"{value:.3g}"


def _ends(*ends: str) -> str:
    """Return the ends of a stretch; one where they are the same."""
    return phrase("{low} to {high}", low=ends[0], high=ends[-1]) if len(ends) > 1 else ends[0]


def _table(headings: Sequence[str], spoken: Language) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for heading in headings:
        in_words = heading in _IN_WORDS
        table.add_column(spoken.say(heading), overflow="fold", justify="left" if in_words else "right")
    return table


def _row(table: Table, *cells: str, spoken: Language) -> None:
    table.add_row(*(Text(plain(spoken.say(cell))) for cell in cells))
