"""Gates for CI: ``p99_ttft +10%`` fails where a candidate is beyond doubt more than 10 % above its baseline."""

import math
import re
from dataclasses import dataclass
from typing import Literal

from whichbits.analyze.comparison.comparison import Comparison, Row
from whichbits.analyze.curves.load_curves import METRICS
from whichbits.analyze.summary import Metric
from whichbits.errors import BadInput

GateVerdict = Literal["passed", "failed", "uncertain", "undecidable"]

_GATE = re.compile(r"\s*(?P<metric>[\w. -]*?\w)\s*(?P<sign>[+-])\s*(?P<percent>\d+(?:\.\d+)?)\s*%\s*")
_STATISTICS = {"median": "p50", "p50": "p50", "mean": "mean", "p90": "p90", "p99": "p99"}
_OTHER_NAMES: dict[str, Metric] = {
    "throughput": "output_tokens_per_s",
    "output_throughput": "output_tokens_per_s",
    "goodput": "goodput_requests_per_s",
}


@dataclass(frozen=True)
class Gate:
    """A limit on the ratio of candidate to baseline: 1.1 for +10 %, from above, 0.95 for -5 %, from below."""

    text: str
    metric: Metric
    limit: float

    @property
    def above(self) -> bool:
        """True if values beyond the limit are those above it."""
        return self.limit >= 1


@dataclass(frozen=True)
class GateOutcome:
    """What became of a gate, over all pairs and loads; ``rows`` are (baseline, candidate, row) that decided it.

    ``compared`` counts the loads that it was held against, ``missed`` are rows that could not be compared.
    """

    gate: str
    verdict: GateVerdict
    rows: tuple[tuple[str, str, Row], ...]
    compared: int = 0
    missed: tuple[tuple[str, str, Row], ...] = ()

    def breaks(self, *, sure: bool) -> bool:
        """Say whether this fails a build: ``sure`` if also what cannot be shown to hold at each load does.

        A gate that can be held against nothing always does.
        """
        if self.verdict == "passed":
            return sure and bool(self.missed)
        return sure or self.verdict != "uncertain"


def read_gate(text: str) -> Gate:
    """Read ``METRIC SIGN PERCENT%``.

    Raises:
        BadInput: ``gate_unreadable`` or ``gate_metric_unknown``.
    """
    found = _GATE.fullmatch(text) if isinstance(text, str) else None  # of a test, which nobody checks for types
    percent = float(found["percent"]) if found else math.nan
    if found is None or (found["sign"] == "-" and percent >= 100) or percent == 0:
        raise BadInput(
            "gate_unreadable",
            f"--fail-on {text!r} is no limit",
            why='a limit is a metric, a sign and a percentage above 0, such as "p99_ttft +10%"',
            fix='write --fail-on "p99_ttft +10%" or --fail-on "output_throughput -5%"',
        )
    limit = 1 + percent / 100 if found["sign"] == "+" else 1 - percent / 100
    return Gate(" ".join(text.split()), _metric(found["metric"]), limit)


def judge(gate: Gate, comparison: Comparison) -> GateOutcome:
    """Hold every comparable row of the gate's metric against its limit; the gravest verdict is the gate's."""
    asked = [
        (pair.baseline, pair.candidate, row)
        for pair in comparison.pairs
        for row in pair.rows
        if row.metric == gate.metric
    ]
    rows = [each for each in asked if each[2].ratio is not None]
    missed = tuple(each for each in asked if each[2].ratio is None)
    for verdict in ("failed", "uncertain"):
        if beyond := tuple(each for each in rows if _verdict(gate, each[2]) == verdict):
            return GateOutcome(gate.text, verdict, beyond, len(rows), missed)
    return GateOutcome(gate.text, "passed" if rows else "undecidable", (), len(rows), missed)


def undecidable(gate: GateOutcome) -> BadInput:
    """Return the error for a gate that nothing could be held against: it must not pass unseen."""
    return BadInput(
        "gate_undecidable",
        f"--fail-on {gate.gate!r}: there is no load at which this metric can be compared",
        why="one side does not have it, or the sides define it differently; the table says which",
        fix="gate a metric that both sides have under one definition, or measure both with one tool and version",
    )


def _verdict(gate: Gate, row: Row) -> GateVerdict:
    if row.low is None or row.high is None or row.significant is None:
        return "uncertain"
    if gate.above:
        return "failed" if row.low > gate.limit else "passed" if row.high <= gate.limit else "uncertain"
    return "failed" if row.high < gate.limit else "passed" if row.low >= gate.limit else "uncertain"


def _metric(name: str) -> Metric:
    word = re.sub(r"[\s-]+", "_", name.strip().lower())
    if word in METRICS:
        return word
    if word in _OTHER_NAMES:
        return _OTHER_NAMES[word]
    for metric in METRICS:
        holder, _, statistic = metric.partition(".")
        quantity = holder.removesuffix("_ms")
        if statistic and word in {f"{each}_{quantity}" for each, what in _STATISTICS.items() if what == statistic}:
            return metric
    raise BadInput(
        "gate_metric_unknown",
        f"--fail-on: {name!r} is no metric that is compared",
        why="it is misspelt, or not among the compared percentiles",
        fix=f"use one of: {', '.join(_names())}",
    )


def _names() -> list[str]:
    parts = [metric.partition(".") for metric in METRICS]
    latencies = [f"{statistic}_{holder.removesuffix('_ms')}" for holder, _, statistic in parts if statistic]
    return [*latencies, "output_throughput", "goodput"]
