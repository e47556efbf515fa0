"""The facts of a /metrics text as rows for people: times in place of sums and buckets, nothing that is not known."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from whichbits.language.amounts import amount
from whichbits.report.wording import number

Row = tuple[str, Any]

_PART = re.compile(r"(\w+)_(sum|count|buckets)")
_PER_STEP = "iteration_tokens"


def metric_rows(facts: Mapping[str, Any]) -> Iterator[Row]:
    """Yield a name and what to show for each fact that says something by itself, in the order of the facts."""
    for name, value in facts.items():
        if value is None or _is_told_by_times(name, facts):
            continue
        if name == f"{_PER_STEP}_sum" and facts.get(f"{_PER_STEP}_count"):
            steps = facts[f"{_PER_STEP}_count"]
            yield _PER_STEP, f"mean {number(value / steps)} over {amount(steps, 'step')}"
        else:
            yield name, _times(value) if name.endswith("_ms") and isinstance(value, dict) else value


def _is_told_by_times(name: str, facts: Mapping[str, Any]) -> bool:
    part = _PART.fullmatch(name)
    if part is None:
        return False
    return f"{part[1]}_ms" in facts or (name == f"{_PER_STEP}_count" and f"{_PER_STEP}_sum" in facts)


def _times(times: Mapping[str, Any]) -> str:
    return ", ".join([f"mean {number(times['mean'])}", *_quantiles(times), f"of {times['n']:,}"])


def _quantiles(times: Mapping[str, Any]) -> Iterable[str]:
    for name in ("p50", "p99"):
        value, low, high = (times[key] for key in (name, f"{name}_low", f"{name}_high"))
        if high is None:
            yield f"{name} over {number(low)}"
        elif value is not None:
            yield f"{name} {number(value)} ({number(low)} to {number(high)})"
        elif low > 0:
            yield f"{name} {number(low)} to {number(high)}"
