"""How many requests hold the service level at each load, and up to which load 99 % do."""

from typing import Any

from whichbits.analyze.curves.slo import held_words
from whichbits.analyze.summary import CellSummary, SloCapacity, Summary
from whichbits.language.phrase import joined, phrase
from whichbits.record.schema import Manifest
from whichbits.report.cells.pooled import Pooled, pooled
from whichbits.report.sheets.sheet import Sheet
from whichbits.report.wording import LOAD_NAMES, MISSING, share_text, short_load

_BOUNDS = {"ttft_ms": "TTFT", "tpot_ms": "TPOT", "e2e_ms": "E2E"}


def service_level(summary: Summary, manifest: Manifest) -> Sheet | None:
    """Return an arm a row; None if the study states no service level."""
    held = {
        (each.arm, each.load): _share_words(share, each)
        for each in pooled(summary)
        if (share := _share(each)) is not None
    }
    if not held:
        return None
    loads = sorted({load for _, load in held})
    capacity = {each.arm: each for each in summary.slo_capacities}
    share = next((each.share for each in summary.slo_capacities), 0.99)
    return Sheet(
        name="slo",
        title=phrase("Service level"),
        meaning=phrase(
            "{slo_words}: share of requests that hold it by {load}, and the highest load at which "
            "{share:.0%} do (95 % interval).{unused}",
            slo_words=slo_words(manifest),
            load=LOAD_NAMES[summary.load_unit],
            share=share,
            unused=phrase(" In parentheses: not used, since the client was the limit or the cell was cut short.")
            if any(words.startswith("(") for words in held.values())
            else "",
        ),
        headings=(phrase("arm"), phrase("holds up to"), *map(short_load, loads)),
        rows=tuple(
            (arm, capacity_text(capacity.get(arm)), *(held.get((arm, load), MISSING) for load in loads))
            for arm in summary.arms
        ),
        words=2,
    )


def slo_words(manifest: Manifest) -> str:
    """Return the bounds of the study: ``TTFT <= 500 ms, TPOT <= 20 ms``."""
    bounds: dict[str, Any] = manifest.study.get("slo") or {}
    known = [
        phrase("{name} ≤ {bound:g} ms", name=_BOUNDS.get(name, name), bound=bound)
        for name, bound in bounds.items()
        if bound is not None
    ]
    return joined(", ", known) or "SLO"


def capacity_text(capacity: SloCapacity | None) -> str:
    """Return the highest load that holds, with how sure it is: ``129 (117 to 131)``."""
    return MISSING if capacity is None else held_words(capacity)


def _share_words(share: float, each: Pooled) -> str:
    usable = any(cell.state == "done" and cell.client_verdict != "client_limited" for cell in each.cells)
    return share_text(share) if usable else f"({share_text(share)})"


def _share(each: Pooled) -> float | None:
    def held(cell: CellSummary) -> float | None:
        return None if cell.slo_share is None else cell.slo_share * cell.requests

    good, sent = each.total(held), each.total(lambda cell: cell.requests)
    return None if good is None or not sent else good / sent
