"""The small study's numbers again in runs of hostile shapes: hundreds of arms, of loads, of repeats."""

from collections.abc import Iterable
from dataclasses import replace
from itertools import combinations, pairwise, product

from tests.report.make_summary import explained, make_manifest, make_summary
from whichbits.analyze.latency.request_timelines import CellRequests, RequestTimes, Sample
from whichbits.analyze.summary import CellSummary, Finding, Recommendation, Summary
from whichbits.record.schema import Cell, Manifest

_COMPARED = 12
"""So many arms have every pair compared; the others are compared with the first."""


def vast(arms: int, loads: int, repeats: int = 1, name: str = "arm") -> tuple[Summary, Manifest]:
    """A run with all that the small study knows, of so many arms, loads and repeats; each arm slower than the last."""
    summary, manifest = explained(make_summary(failed=None)), make_manifest()
    names = [f"{name}-{number}" for number in range(arms)]
    pattern = next(cell for cell in summary.cells if cell.concurrency == 16)
    room, record = summary.arms[pattern.arm], manifest.arms[pattern.arm]
    places = product(enumerate(names), range(1, loads + 1), range(repeats))
    cells = tuple(
        replace(
            pattern,
            cell=number,
            arm=arm,
            concurrency=load,
            repeat=repeat,
            tpot_ms=replace(pattern.tpot_ms, p50=20 + load + 0.1 * place),
        )
        for number, ((place, arm), load, repeat) in enumerate(places)
    )
    found = replace(
        summary,
        arms={arm: replace(room, arm=arm) for arm in names},
        cells=cells,
        crossovers=tuple(
            replace(each, arms=pair)
            for each in summary.crossovers
            if each.arms == summary.crossovers[0].arms
            for pair in _pairs(names)
        ),
        recommendation=_handovers(summary.recommendation, names, loads),
        findings=tuple(_long(finding, names) for finding in summary.findings for _ in range(30)),
        slo_capacities=tuple(replace(summary.slo_capacities[0], arm=arm) for arm in names),
        profiles=tuple(replace(summary.profiles[0], arm=arm) for arm in names),
    )
    return found, replace(
        manifest,
        study=manifest.study | {"arms": {arm: {"weight_format": "fp16", "model": "x" * 60} for arm in names}},
        arms={arm: replace(record, arm=arm) for arm in names},
        cells=recorded(cells, manifest),
    )


def recorded(cells: Iterable[CellSummary], small: Manifest) -> tuple[Cell, ...]:
    """What is recorded of each of these cells, with the client of the small study."""
    return tuple(
        Cell(
            cell.cell,
            cell.arm,
            cell.concurrency,
            None,
            cell.repeat,
            "done",
            client=small.cells[0].client,
            notes=(f"a note {cell.cell}",),
        )
        for cell in cells
    )


def flights(manifest: Manifest, cells: int = 400, requests: int = 30) -> list[CellRequests]:
    """As many requests as a page may have, of the first cells."""
    return [
        CellRequests(
            cell,
            Sample(requests, 0, 0, 0, 0, requests),
            0,
            tuple(
                RequestTimes(at, 1e3 * at, 1e3 * at + 0.3, 1e3 * at + 90.7, 1e4 * at, 1e4 * at, 220, 500.5, 90.3)
                for at in range(requests)
            ),
        )
        for cell in manifest.cells[:cells]
    ]


def _pairs(names: list[str]) -> list[tuple[str, str]]:
    near = list(combinations(names[:_COMPARED], 2))
    return [*near, *((names[0], other) for other in names[_COMPARED:])]


def _handovers(entries: tuple[Recommendation, ...], names: list[str], loads: int) -> tuple[Recommendation, ...]:
    """The lead goes to and fro between the first two arms at every load."""
    ends = [None, *(load + 0.5 for load in range(1, loads)), None]
    ranges = tuple((names[at % 2], low, high) for at, (low, high) in enumerate(pairwise(ends)))
    return tuple(
        replace(entry, ranges=ranges, stretches=(), uncertain=(None,) * (loads - 1), undecided=(None,) * (loads - 1))
        for entry in entries
    )


def _long(finding: Finding, names: list[str]) -> Finding:
    return replace(finding, evidence=tuple(f"{name}: something of it" for name in names))
