"""Whom to compare with whom: arms of several sources by their name, or as the only ones of their sources."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from whichbits.analyze.comparison.sides import Side
from whichbits.analyze.comparison.sources import Source
from whichbits.errors import BadInput
from whichbits.study.model import load_name


def pairs(sources: Sequence[Source]) -> list[tuple[Side, Side]]:
    """Return whom to compare with whom, the first of each the baseline.

    One source: its first arm with each other. Several of one arm each: the first with each other. Else arms of one
    name, the first source's with each other's.

    Raises:
        BadInput: ``nothing_to_compare`` or ``no_shared_load``.
    """
    first, *others = _distinct(sources)
    if not others:
        found = [(first.sides[0], side) for side in first.sides[1:]]
    elif all(len(source.sides) == 1 for source in (first, *others)):
        found = [(_from(first, first.sides[0]), _from(source, source.sides[0])) for source in others]
    else:
        found = [
            (_from(first, ours), _from(source, theirs))
            for source in others
            for ours in first.sides
            for theirs in source.sides
            if ours.name == theirs.name
        ]
    if not found:
        raise _nothing_to_compare(sources)
    meeting = [pair for pair in found if set(pair[0].loads) & set(pair[1].loads)]
    if not meeting:
        raise _no_shared_load(found[0])
    return meeting


def _distinct(sources: Sequence[Source]) -> list[Source]:
    """Number sources that have the name of an earlier one."""
    seen: Counter[str] = Counter()
    found = []
    for source in sources:
        seen[source.name] += 1
        nth = seen[source.name]
        found.append(source if nth == 1 else replace(source, name=f"{source.name} ({nth})"))
    return found


def _from(source: Source, side: Side) -> Side:
    """Name a side after its source, and itself where the source has several."""
    return replace(side, name=source.name if len(source.sides) == 1 else f"{source.name}:{side.name}")


def _nothing_to_compare(sources: Sequence[Source]) -> BadInput:
    told = "; ".join(f"{source.name}: {', '.join(side.name for side in source.sides)}" for source in sources)
    return BadInput(
        "nothing_to_compare",
        f"no two arms belong together ({told})",
        why="sources of several arms are compared arm by arm, by name, and one source alone needs two arms",
        fix="name result files alike, as in `whichbits compare before/ after/`, or give one arm a source: NAME=PATH",
    )


def _no_shared_load(pair: tuple[Side, Side]) -> BadInput:
    told = [", ".join(load_name(*load) for load in side.loads) for side in pair]
    return BadInput(
        "no_shared_load",
        f"the loads of {pair[0].name} are {told[0]}, those of {pair[1].name} {told[1]}",
        why="a ratio between different loads says nothing of the arms",
        fix="take runs that share a concurrency or request rate",
    )
