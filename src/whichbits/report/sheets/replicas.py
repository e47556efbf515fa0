"""How requests and prefix hits fell to the replicas of an arm, and what they add up to."""

from collections.abc import Iterator

from whichbits.analyze.summary import ReplicaSummary, Summary
from whichbits.language.phrase import phrase
from whichbits.record.schema import Manifest
from whichbits.report.cells.pooled import Pooled, by_arm
from whichbits.report.sheets.cache import expected_text
from whichbits.report.sheets.sheet import Sheet
from whichbits.report.wording import MISSING, number, share_text


def replicas(summary: Summary, _: Manifest) -> Sheet | None:
    """Return a row a replica and one for all of them; None if no arm has several."""
    rows = tuple(row for each in by_arm(summary) if _several(each) for row in _rows(each))
    if not rows:
        return None
    return Sheet(
        name="replicas",
        title=phrase("Replicas"),
        meaning=phrase(
            "Requests, prompt tokens and prefix cache of each replica, repeats added up, and of all together."
        ),
        headings=(
            phrase("arm"),
            phrase("load"),
            phrase("replica"),
            phrase("sent"),
            phrase("share"),
            phrase("looked up"),
            phrase("found"),
            phrase("hit rate"),
            phrase("expected"),
        ),
        rows=rows,
        words=3,
    )


def _several(each: Pooled) -> bool:
    return any(len(cell.replicas) > 1 for cell in each.counted)


def _rows(each: Pooled) -> Iterator[tuple[str, ...]]:
    found: dict[str, list[ReplicaSummary]] = {}
    for cell in each.counted:
        for replica in cell.replicas:
            found.setdefault(replica.replica, []).append(replica)
    everyone = [replica for parts in found.values() for replica in parts]
    sent = _sum([replica.requests for replica in everyone])
    for name, parts in found.items():
        yield (each.arm, each.load_text, name, *_numbers(parts, sent), "")
    yield (each.arm, each.load_text, phrase("all"), *_numbers(everyone, sent), expected_text(each.counted[0]))


def _numbers(parts: list[ReplicaSummary], sent: int | None) -> tuple[str, ...]:
    requests = _sum([part.requests for part in parts])
    queries, hits = _sum([part.prefix_queries for part in parts]), _sum([part.prefix_hits for part in parts])
    share = requests / sent if requests is not None and sent else None
    rate = hits / queries if hits is not None and queries else None
    return (*map(_whole, (requests,)), share_text(share), number(queries), number(hits), share_text(rate))


def _sum(values: list[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _whole(value: int | None) -> str:
    return MISSING if value is None else str(value)
