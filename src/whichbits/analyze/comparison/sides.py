"""What stands on either side of a comparison, and whether two cells of it may be held against each other."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from whichbits.analyze.cells.noise import Replicates
from whichbits.analyze.curves.load_curves import why_unusable
from whichbits.analyze.curves.meaning import Shared
from whichbits.analyze.summary import CellSummary, Metric
from whichbits.language.phrase import joined

Load = tuple[int | None, float | None]
"""Concurrency and request rate."""

Pair = tuple[CellSummary, CellSummary]
"""A cell of the baseline, and one of the candidate at the same load and repeat."""

WORK_TOLERANCE = 0.02
"""Beyond this difference in tokens a request, the two sides did different work."""

_OF_WHOLE_ANSWERS = ("e2e_ms", "output_tokens_per_s", "goodput_requests_per_s", "cost_per_million_tokens")


@dataclass(frozen=True)
class Side:
    """One arm of one source: a run, a summary or another tool's results."""

    name: str
    cells: tuple[CellSummary, ...]
    facts: Mapping[str, str] = field(default_factory=dict)
    """What is known of model, hardware, engine and tool: differences are shown, and refuse nothing."""
    resampled: Mapping[int, Replicates] = field(default_factory=dict)
    """By number of the cell; empty where no requests are kept."""
    prompts: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    """Prompt lengths in the order of requests, by number of the cell: equal ones are taken for the same prompts."""
    requests: Mapping[int, str] = field(default_factory=dict)
    """A digest of all that is recorded of its requests, by number of the cell: equal ones are the same measurement."""
    slo: str | None = None
    predicted: bool = False
    """What a prediction leaves open are its constants, not which requests came: that pairs with predictions only."""

    @property
    def loads(self) -> tuple[Load, ...]:
        """The loads of its cells, in their order."""
        return tuple(dict.fromkeys((cell.concurrency, cell.request_rate) for cell in self.cells))

    def at(self, load: Load) -> dict[int, CellSummary]:
        """Return the cells of a load by repeat."""
        return {cell.repeat: cell for cell in self.cells if (cell.concurrency, cell.request_rate) == load}


Sides = tuple[Side, Side]
"""Baseline and candidate."""


def identical(sides: Sides) -> bool:
    """Say whether both sides are one measurement: at each load and repeat of theirs the same requests, to the bit."""
    one, other = (
        {(cell.concurrency, cell.request_rate, cell.repeat): side.requests.get(cell.cell) for cell in side.cells}
        for side in sides
    )
    known = {digest for digest in one.values() if digest is not None}
    return bool(known) and one == other and sides[0].slo == sides[1].slo


def same_prompts(sides: Sides, pair: Pair) -> bool:
    """Say whether both cells sent the same prompts, as far as their lengths tell, and leave open the same."""
    if sides[0].predicted != sides[1].predicted:
        return False
    one, other = (side.prompts.get(cell.cell) for side, cell in zip(sides, pair, strict=True))
    return one is not None and one == other


def read(cell: CellSummary, metric: Metric, holder: str) -> float | None:
    """Return a metric from the holder that is comparable; 0 is none, as it has no ratio."""
    statistic = metric.partition(".")[2]
    found = getattr(cell, holder, None)
    value: float | None = getattr(found, statistic) if statistic and found is not None else found
    return value or None


def refusal(sides: Sides, metric: Metric, pair: Pair, shared: Shared) -> str | None:
    """Say why a metric of two cells must not be compared, or None if it may."""
    for side, cell, holder in zip(sides, pair, shared.holders, strict=True):
        if reason := why_unusable(cell):
            return joined(": ", [side.name, reason])
        if read(cell, metric, holder) is None:
            return f"{side.name} does not have it"
    if shared.refusal:
        return shared.refusal
    if metric == "goodput_requests_per_s" and sides[0].slo != sides[1].slo:
        return "the SLOs differ"
    return _different_work(metric, pair)


def _different_work(metric: Metric, pair: Pair) -> str | None:
    """Say which tokens differ: those of prompts touch every metric, those of answers what covers whole answers."""
    covers_answers = metric.partition(".")[0] in _OF_WHOLE_ANSWERS
    for name in ("prompt_tokens", "output_tokens") if covers_answers else ("prompt_tokens",):
        one, other = (_per_request(cell, name) for cell in pair)
        if one and other and abs(math.log(one / other)) > math.log1p(WORK_TOLERANCE):
            return f"different work: {one:.0f} and {other:.0f} {name.replace('_', ' ')} a request"
    return None


def _per_request(cell: CellSummary, name: str) -> float | None:
    tokens = getattr(cell, name)
    return tokens / cell.served if tokens and cell.served else None
