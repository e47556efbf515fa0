"""Which runs of a folder can be compared with one, by the rules of ``compare``, the likeliest first."""

from collections.abc import Iterable, Sequence

from whichbits.view.catalogue import Entry


def comparable_with(entry: Entry, others: Iterable[Entry]) -> list[Entry]:
    """Return the runs that share an arm's load with ``entry``, those of its study and source first, in their order."""
    found = [other for other in others if other.name != entry.name and share_a_load(entry, other)]
    return sorted(found, key=lambda other: (other.source != entry.source, other.study != entry.study))


def share_a_load(one: Entry, other: Entry) -> bool:
    """Say whether arms of one name, or the only ones of both runs, met a load in common."""
    if one.met & other.met:
        return True
    alone = all(len({arm for arm, _, _ in each.met}) == 1 for each in (one, other))
    loads, theirs = ({(concurrency, rate) for _, concurrency, rate in each.met} for each in (one, other))
    return alone and bool(loads & theirs)


def oldest_first(entries: Sequence[Entry], baseline: str | None) -> list[Entry]:
    """Return runs as before and after: by when they were made, but the chosen baseline, if any, first."""
    return sorted(entries, key=lambda entry: (entry.name != baseline, entry.created, entry.name))
