"""Paces that need a second look: bandwidth by bytes loaded or read, and prompts by tokens sent or computed."""

from collections.abc import Iterator
from typing import NamedTuple

from whichbits.analyze.findings.load import is_behind
from whichbits.analyze.findings.observed import Observed, evidence, load_of, number, of_arm
from whichbits.analyze.findings.phases import prefill_words
from whichbits.analyze.summary import CellSummary, Finding
from whichbits.language.phrase import listed, phrase

WAYS_APART = 0.03
RATES_APART = 0.01


def loaded_not_read(observed: Observed) -> Iterator[Finding]:
    """Say where the two ways of counting a step's bytes give different shares of the bandwidth."""
    lowest = [cells[0] for arm in observed.arms if (cells := of_arm(observed, arm))]
    apart = [(cell, both) for cell in lowest if (both := _bandwidths(cell)) and abs(both[0] - both[1]) > WAYS_APART]
    if apart:
        told = listed(
            phrase("{both:.1%} and {both_2:.1%} for {arm}", both=both[0], both_2=both[1], arm=cell.arm)
            for cell, both in apart
        )
        text = phrase(
            "Attained bandwidth by the weights loaded and by the bytes that a step really reads: {told}, at "
            "the lowest load. A step reads one row of the input embedding a request, and the KV cache, which "
            "the log's figure knows nothing of. The second is the one that says how much room is left.",
            told=told,
        )
        lines = (
            *evidence([cell for cell, _ in apart]),
            phrase("roofline.loaded and roofline.read, attained_bandwidth"),
        )
        yield Finding("observed", "loaded_not_read", text, lines)


def computed_prompts(observed: Observed) -> Iterator[Finding]:
    """Compare the prompt tokens that arms really computed a second, where prefill sets the pace."""
    loads: dict[tuple[str, int], list[_Computed]] = {}
    for cell in observed.done:
        if (pace := _computed(cell)) is not None and prefill_words(cell) and _sets_its_pace(cell):
            loads.setdefault((load_of(cell), cell.repeat), []).append(_Computed(cell, pace))
    for (load, _), found in loads.items():
        if len(found) > 1 and _spread([each.cell.prefix_hit_rate or 0 for each in found]) > RATES_APART:
            lines = (*evidence([each.cell for each in found]), phrase("prompt tokens x (1 - hit rate) / duration"))
            settled = phrase("prefill alone, cold: one output token a request")
            yield Finding("observed", "computed_prompts", _computed_text(load, found), lines, settled)


def _computed_text(load: str, found: "list[_Computed]") -> str:
    told = listed(
        phrase(
            "{arm} {pace} ({prefix_hit_rate:.1%} of its prompts cached)",
            arm=each.cell.arm,
            pace=number(each.pace),
            prefix_hit_rate=each.cell.prefix_hit_rate or 0,
        )
        for each in found
    )
    fast, slow = max(found, key=lambda each: each.pace), min(found, key=lambda each: each.pace)
    return phrase(
        "Arms found different parts of their prompts in the cache at {load}, so that throughput hides "
        "the pace of prefill. Prompt tokens really computed a second: {told}. A computed token takes "
        "{arm} {pace:.0%} longer than {arm_2}, the decoding beside it included.",
        load=load,
        told=told,
        arm=slow.cell.arm,
        pace=fast.pace / slow.pace - 1,
        arm_2=fast.cell.arm,
    )


class _Computed(NamedTuple):
    cell: CellSummary
    pace: float


def _computed(cell: CellSummary) -> float | None:
    if cell.prompt_tokens is None or cell.prefix_hit_rate is None or not cell.duration_s:
        return None
    return cell.prompt_tokens * (1 - cell.prefix_hit_rate) / cell.duration_s


def _sets_its_pace(cell: CellSummary) -> bool:
    """Whether the arm, not the clock of arrivals, decides how many tokens a second are computed."""
    return cell.request_rate is None or is_behind(cell)


def _bandwidths(cell: CellSummary) -> tuple[float, float] | None:
    roof = cell.roofline
    if roof is None or roof.loaded is None or roof.read is None:
        return None
    return roof.loaded.attained_bandwidth, roof.read.attained_bandwidth


def _spread(values: list[float]) -> float:
    return max(values) - min(values)
