"""A run under test: its tables, and limits on it against a baseline, by the rules of ``compare --fail-on``."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from whichbits.analyze.comparison.comparison import Comparison, compare
from whichbits.analyze.comparison.gates import GateOutcome, judge, read_gate
from whichbits.analyze.comparison.pairs import pairs
from whichbits.analyze.comparison.sources import read_source
from whichbits.analyze.curves.load_curves import MARGIN
from whichbits.study.model import load_name
from whichbits.tables.loaded_run import LoadedRun, load_run


@dataclass(frozen=True)
class GatedRun:
    """What the fixture ``whichbits_run`` gives."""

    path: Path
    baseline: Path | None = None

    @cached_property
    def run(self) -> LoadedRun:
        """Its summary and tables.

        Raises:
            BadInput: the path is no run folder; other tools' result files can be held against limits only.
        """
        return load_run(self.path)

    def assert_within(self, *limits: str, baseline: str | Path | None = None, sure: bool = False) -> None:
        """Fail the test where a limit, such as ``"p99_ttft +10%"``, is broken beyond doubt.

        Without a baseline, the run's first arm is the baseline of its others.

        Args:
            limits: As ``whichbits compare --fail-on`` takes them.
            baseline: A run folder or result file, in place of the marker's.
            sure: Fail also where a limit cannot be shown to hold.

        Raises:
            AssertionError: a limit is broken, or can be held against nothing.
            BadInput: a limit or a source cannot be read, or nothing can be compared.
        """
        __tracebackhide__ = True
        gates = [read_gate(limit) for limit in limits]
        found = self.comparison(baseline)
        broken = {"failed", "undecidable"} | ({"uncertain"} if sure else set())
        outcomes = [outcome for gate in gates if (outcome := judge(gate, found)).verdict in broken]
        if outcomes:
            raise AssertionError("\n".join(_told(outcomes)))

    def comparison(self, baseline: str | Path | None = None) -> Comparison:
        """Return all that ``whichbits compare`` finds against the baseline.

        Raises:
            BadInput: a source cannot be read, or nothing can be compared.
        """
        against = self.baseline if baseline is None else baseline
        sources = [self.path] if against is None else [against, self.path]
        return compare(pairs([read_source(str(source)) for source in sources]), MARGIN)


def _told(outcomes: Sequence[GateOutcome]) -> Iterator[str]:
    for outcome in outcomes:
        if outcome.verdict == "undecidable":
            yield f"{outcome.gate}: there is no load at which both sides have this metric under one definition"
        for baseline, candidate, row in outcome.rows:
            change = "not known" if row.ratio is None else f"{row.ratio - 1:+.1%}"
            span = "" if row.low is None or row.high is None else f" ({row.low - 1:+.1%} to {row.high - 1:+.1%})"
            where = load_name(row.concurrency, row.request_rate)
            yield f"{outcome.gate}: {outcome.verdict} at {where}, {candidate} against {baseline}: {change}{span}"
