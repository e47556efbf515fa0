"""Tell whether a file is another tool's result, and what it says."""

from typing import Any

from whichbits.record.importers.bench_json import read_bench_json
from whichbits.record.importers.bench_offline import read_offline_json, read_offline_text
from whichbits.record.importers.bench_table import read_bench_tables
from whichbits.record.importers.bench_verdict import BenchVerdict, judge_bench
from whichbits.record.inspection import Inspection, Kind, Problem

Facts = dict[str, Any]


def recognise(name: str, text: str) -> Inspection | None:  # noqa: ARG001 - result files are known by what they hold
    """Return what a benchmark's result file or printed table says, or None if it is neither.

    ``engine`` stays None: a backend is the protocol that the client was told to speak, not who answered. One
    result's facts stand flat; several stand in ``facts["runs"]``, never mixed. ``records`` counts them.
    """
    results = read_bench_json(text)
    if results:
        return _inspection("bench_json", results, [{}] * len(results))
    tables = read_bench_tables(text)
    if tables:
        return _inspection("bench_stdout", [table.facts for table in tables], [table.lines for table in tables])
    if (facts := read_offline_json(text)) is not None:
        return _inspection("bench_json", [facts], [{}])
    if printed := read_offline_text(text):
        return _inspection("bench_stdout", [printed[0]], [printed[1]])
    return None


def _inspection(kind: Kind, runs: list[Facts], lines: list[dict[str, str]]) -> Inspection:
    verdicts = [judge_bench(facts) for facts in runs]
    whole = [facts | verdict.derived for facts, verdict in zip(runs, verdicts, strict=True)]
    errors, warnings = _problems(verdicts)
    if len(whole) == 1:
        return Inspection(kind, None, None, whole[0] | {"records": 1}, errors, warnings, lines[0])
    return Inspection(kind, None, None, {"records": len(whole), "runs": whole}, errors, warnings)


def _problems(verdicts: list[BenchVerdict]) -> tuple[tuple[Problem, ...], tuple[Problem, ...]]:
    """Return all errors and all warnings, each with its run's number where there are several."""
    if len(verdicts) == 1:
        return verdicts[0].errors, verdicts[0].warnings
    numbered = list(enumerate(verdicts, 1))
    return (
        tuple(_of_run(number, problem) for number, verdict in numbered for problem in verdict.errors),
        tuple(_of_run(number, problem) for number, verdict in numbered for problem in verdict.warnings),
    )


def _of_run(number: int, problem: Problem) -> Problem:
    return Problem(problem.code, f"run {number}" + (f": {problem.line}" if problem.line else ""))
