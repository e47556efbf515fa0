"""What output tokens cost: in each cell, and where an arm holds its SLO."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from whichbits.analyze.curves.load_curves import curves, load_unit, load_words
from whichbits.analyze.summary import CellSummary, Finding, SloCapacity
from whichbits.language.phrase import first_of, phrase


def cost_per_million_tokens(price_per_hour: float, tokens_per_s: float) -> float:
    """Return the price of a million output tokens, in the price's own currency."""
    return price_per_hour / 3600 / tokens_per_s * 1e6


def prices(study: Mapping[str, Any]) -> dict[str, float]:
    """Return the price per hour of the arms that have one, from a study as a run records it."""
    arms = study.get("arms")
    given = {} if not isinstance(arms, Mapping) else {name: arm.get("price_per_hour") for name, arm in arms.items()}
    return {name: float(price) for name, price in given.items() if price is not None}


def priced(cell: CellSummary, price_per_hour: Mapping[str, float]) -> CellSummary:
    """Return the cell with its cost, if its arm has a price and it gave tokens."""
    if cell.arm not in price_per_hour or not cell.output_tokens_per_s:
        return cell
    cost = cost_per_million_tokens(price_per_hour[cell.arm], cell.output_tokens_per_s)
    spread = cell.intervals.get("output_tokens_per_s")
    if spread is None:
        return replace(cell, cost_per_million_tokens=cost)
    low, high = (cost_per_million_tokens(price_per_hour[cell.arm], tokens_per_s) for tokens_per_s in spread[::-1])
    return replace(
        cell, cost_per_million_tokens=cost, intervals=cell.intervals | {"cost_per_million_tokens": (low, high)}
    )


def at_their_cost(capacities: Sequence[SloCapacity], cells: Sequence[CellSummary]) -> tuple[SloCapacity, ...]:
    """Return each capacity with what tokens cost at its load: read off between loads, linear in log load.

    It is not known beyond the loads of cells that can be used.
    """
    by_arm = curves(cells, "cost_per_million_tokens", load_unit(cells))
    return tuple(
        replace(each, cost_per_million_tokens=_cost_at(by_arm.get(each.arm), each.load)) for each in capacities
    )


def cheapest_at_slo(capacities: Sequence[SloCapacity]) -> Iterator[Finding]:
    """Name the arm that serves cheapest where it holds the SLO, if at least two arms have prices and hold it."""
    costs = (
        sorted((each.cost_per_million_tokens, each) for each in capacities if each.cost_per_million_tokens is not None)
        if len({each.arm for each in capacities}) > 1
        else []
    )
    if len(costs) > 1:
        (best, arm), *others = costs
        rest = first_of(
            "; ",
            [
                phrase("{arm} {cost:.3g} at {load}", arm=each.arm, cost=cost, load=load_words(each.load))
                for cost, each in others
            ],
        )
        text = phrase(
            "At the highest load that holds the SLO, {arm} serves cheapest: {best:.3g} per million output "
            "tokens at load {load}; {rest}.",
            arm=arm.arm,
            best=best,
            load=load_words(arm.load),
            rest=rest,
        )
        yield Finding(
            "observed",
            "cheapest_at_slo",
            text,
            tuple(phrase("{arm}: {cost:.4g}", arm=each.arm, cost=cost) for cost, each in costs),
        )


def _cost_at(curve: Mapping[tuple[float, int], float] | None, load: float | None) -> float | None:
    if not curve or load is None:
        return None
    loads = sorted({at for at, _ in curve})
    if not loads[0] <= load <= loads[-1]:
        return None
    means = [np.mean([log for (at, _), log in curve.items() if at == each]) for each in loads]
    return math.exp(float(np.interp(math.log(load), np.log(loads), means)))
