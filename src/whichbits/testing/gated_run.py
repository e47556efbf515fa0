"""A run under test: its tables, and limits on it against a baseline, by the rules of ``compare --fail-on``."""

import warnings
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from whichbits.analyze.comparison.comparison import Comparison, compare
from whichbits.analyze.comparison.gates import judge, read_gate
from whichbits.analyze.comparison.pairs import pairs
from whichbits.analyze.comparison.sources import read_source
from whichbits.analyze.curves.load_curves import MARGIN
from whichbits.analyze.summarize import summarize
from whichbits.errors import BadInput
from whichbits.tables.loaded_run import LoadedRun, load_run
from whichbits.testing.explanation import explained, passed_unseen, refuted


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

        A limit that holds at each load that can be compared, but not at every load, passes with a warning.

        Without a baseline, the run's first arm is the baseline of its others.

        Args:
            limits: As ``whichbits compare --fail-on`` takes them.
            baseline: A run folder or result file, in place of the marker's.
            sure: Fail also where a limit cannot be shown to hold, or a load cannot be compared.

        Raises:
            AssertionError: a limit is broken, or can be held against nothing.
            BadInput: a limit or a source cannot be read, or nothing can be compared.
        """
        __tracebackhide__ = True
        _insist_on(limits)
        gates = [read_gate(limit) for limit in limits]
        found = self.comparison(baseline)
        outcomes = [judge(gate, found) for gate in gates]
        broken = [line for outcome in outcomes if outcome.breaks(sure=sure) for line in explained(outcome)]
        if broken:
            raise AssertionError("\n".join(broken))
        for unseen in filter(None, map(passed_unseen, outcomes)):
            warnings.warn(unseen, stacklevel=2)

    def assert_holds(self, *statements: str, sure: bool = False) -> None:
        """Fail the test where a statement such as ``"w4a16.ttft_p99 at load 8 < 500 ms"`` is false of the run.

        Args:
            statements: As a study's ``predictions`` are written; each is held against a value and its interval.
            sure: Fail also where the interval covers both sides of a bound.

        Raises:
            AssertionError: a statement is false, or the run cannot tell, as where the client was the limit.
            BadInput: a statement cannot be read, or names an arm or load that the run does not have.
        """
        __tracebackhide__ = True
        _insist_on(statements)
        summary = summarize(self.run.run)
        broken = [line for text in statements for line in refuted(text, summary, sure=sure)]
        if broken:
            raise AssertionError("\n".join(broken))

    def comparison(self, baseline: str | Path | None = None) -> Comparison:
        """Return all that ``whichbits compare`` finds against the baseline.

        Raises:
            BadInput: a source cannot be read, or nothing can be compared.
        """
        against = self.baseline if baseline is None else baseline
        sources = [self.path] if against is None else [against, self.path]
        return compare(pairs([read_source(str(source)) for source in sources]), MARGIN)


def _insist_on(given: tuple[str, ...]) -> None:
    """Refuse to hold a run against nothing: such a test could not fail."""
    if not given:
        raise BadInput(
            "test_of_nothing",
            "no limit or statement is given, so that the test could not fail",
            why="it is forgotten, or a list that was unpacked is empty",
            fix='give at least one, such as assert_within("p99_ttft +10%")',
        )
