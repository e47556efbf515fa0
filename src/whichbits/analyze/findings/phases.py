"""Where requests spend their time: prefill or decode, queue or work, and the two kinds of steps behind ITL."""

from collections.abc import Iterator

from whichbits.analyze.findings.front_end import comes_in_bursts
from whichbits.analyze.findings.observed import Observed, each, evidence, load_of, number, of_arm, places
from whichbits.analyze.summary import CellSummary, Distribution, Finding, LatencySplit

MOSTLY = 0.5
PROMPT_TO_ANSWER = 20.0
"""Prompt tokens that must be computed for each output token. A decode step reads all weights, which takes as long as
computing some hundreds of tokens, and serves its whole batch with it: from batches of ten on, prefill then leads."""
APART = 2.0
KINDS_APART = 1.5
ENOUGH = 10
SOME = 0.01
TELLS_LITTLE = 0.05


def prefill_bound(observed: Observed) -> Iterator[Finding]:
    """Name cells whose time goes into prefill, where fewer bits of weights save little."""
    bound = {cell.cell: (cell, words) for cell in observed.done if (words := prefill_words(cell))}
    if bound:
        cells = [cell for cell, _ in bound.values()]
        text = (
            f"Prefill sets the pace in {places(cells)}. It multiplies whole prompts, so it is limited by FLOP/s and "
            f"not by the bytes of weights: formats that only store weights in fewer bits (W4A16) save nothing there "
            f"and pay for unpacking; formats that compute in 8 bits can gain."
        )
        lines = each(cells, lambda cell: bound[cell.cell][1])
        settled = "the same arms with short prompts and long answers, and prefill alone (one output token)"
        yield Finding("interpretation", "prefill_bound", text, lines, settled)


def latency_split(observed: Observed) -> Iterator[Finding]:
    """Say for each arm, at its lowest and highest load, where a request's time goes."""
    ends = [cell for arm in observed.arms for cell in _ends(of_arm(observed, arm)) if _whole(cell.latency_split)]
    if ends:
        told = "; ".join(f"{cell.arm} at {load_of(cell)} {_stages(cell)}" for cell in ends)
        text = f"Where a request's time goes, by the engines' own clocks (means): {told}."
        yield Finding("observed", "latency_split", text, evidence(ends))


def two_kinds_of_steps(observed: Observed) -> Iterator[Finding]:
    """Explain a median ITL far from its mean by steps that carry a neighbour's prefill and steps that do not."""
    split = [cell for cell in observed.done if _has_two_kinds(cell) and not comes_in_bursts(cell)]
    if split:
        shown = max(split, key=_share)
        text = (
            f"There are two kinds of steps in {places(split)}, most so in {shown.arm} at {load_of(shown)}: "
            f"{_kinds(shown)}. The median shows the commoner kind and jumps to the other when their shares pass a "
            f"half; a percentile beyond the rarer one's share shows that one; the mean lies between. Compare shares "
            f"and lengths of both, not single numbers of ITL.{_why(shown)}"
        )
        if _carries(shown):
            yield Finding("observed", "two_kinds_of_steps", text, each(split, _kinds))
        else:
            settled = "the prompt tokens that each step of the engine carried"
            yield Finding("interpretation", "two_kinds_of_steps", text, each(split, _kinds), settled)


def median_far_from_mean(observed: Observed) -> Iterator[Finding]:
    """Say where ITL has a median far from its mean, and no timelines to tell why."""
    unexplained = [cell for cell in observed.done if cell.itl_modes is None and not comes_in_bursts(cell)]
    odd = [cell for cell in unexplained if _far(cell.itl_ms)]
    if odd:
        text = (
            f"The mean ITL is far above the median in {places(odd)}, which one kind of steps does not give. Most "
            f"likely steps with and without a neighbour's prefill are pooled; only the gaps themselves would show it. "
            f"An arm with its median on the other kind can be just as fast."
        )
        lines = each(odd, lambda cell: f"ITL median {_ms(cell.itl_ms.p50)}, mean {_ms(cell.itl_ms.mean)} ms")
        yield Finding(
            "unresolved", "median_far_from_mean", text, lines, "request timelines with the time of every chunk"
        )


def ttft_of_hits(observed: Observed) -> Iterator[Finding]:
    """Give TTFT of cache hits and misses apart, where both are many and differ."""
    apart = [cell for cell in observed.done if _hits_apart(cell)]
    if apart:
        text = (
            f"TTFT holds two populations in {places(apart)}: prompts found in the prefix cache and prompts computed. "
            f"Its median moves with the hit rate; compare arms within each."
        )
        yield Finding("observed", "ttft_of_hits", text, each(apart, _hit_words))


def ttft_mixes_hits(observed: Observed) -> Iterator[Finding]:
    """Say where hits and misses are mixed in TTFT, and no request tells which it was."""
    mixed = [cell for cell in observed.done if cell.ttft_by_cache is None and _partly(cell.prefix_hit_rate)]
    if mixed:
        text = (
            f"Part of the prompts came from the prefix cache in {places(mixed)}, and requests do not say which: TTFT "
            f"pools hits and misses, and its percentiles depend on their shares."
        )
        lines = each(mixed, lambda cell: f"prefix hit rate {cell.prefix_hit_rate or 0:.1%}")
        settled = "`usage.prompt_tokens_details` in the answers (vLLM: --enable-prompt-tokens-details)"
        yield Finding("unresolved", "ttft_mixes_hits", text, lines, settled)


def prefill_words(cell: CellSummary) -> str | None:
    """Return why prefill sets a cell's pace: by the engines' clocks, by the gaps, or by the traffic."""
    split = cell.latency_split
    if split is not None and split.prefill is not None and split.decode is not None:
        share = split.prefill / (split.prefill + split.decode)
        if share > MOSTLY:
            return f"prefill / (prefill + decode) {share:.0%} by the engines"
    gaps = cell.itl_modes
    if gaps is not None and (gaps.long_time_share or 0) > MOSTLY and _carries(cell):
        return f"{gaps.long_time_share:.0%} of the time between tokens passes in steps that carry prefill"
    ratio = _computed_per_output(cell)
    return f"{ratio:.0f} prompt tokens computed for each output token" if ratio and ratio > PROMPT_TO_ANSWER else None


def _computed_per_output(cell: CellSummary) -> float | None:
    if cell.prompt_tokens is None or not cell.output_tokens:
        return None
    # An unknown hit rate must not stand for none: then only answers of the cache could be the difference.
    return (
        None if cell.prefix_hit_rate is None else cell.prompt_tokens * (1 - cell.prefix_hit_rate) / cell.output_tokens
    )


def _ends(cells: list[CellSummary]) -> list[CellSummary]:
    return cells[:1] if len(cells) < 2 else [cells[0], cells[-1]]


def _whole(split: LatencySplit | None) -> bool:
    return split is not None and None not in (split.queue, split.prefill, split.decode)


def _stages(cell: CellSummary) -> str:
    split = cell.latency_split
    assert split is not None, "only cells with a split are asked"  # noqa: S101 - narrows the type
    stages = {"queue": split.queue or 0.0, "prefill": split.prefill or 0.0, "decode": split.decode or 0.0}
    whole = sum(stages.values())
    shares = ", ".join(f"{name} {time / whole:.0%}" for name, time in stages.items())
    return f"{shares} of {number(whole)} ms"


def _has_two_kinds(cell: CellSummary) -> bool:
    return _two_heaps(cell) or (_carries(cell) and _share(cell) > SOME)


def _two_heaps(cell: CellSummary) -> bool:
    return cell.itl_modes is not None and len(cell.itl_modes.modes) == 2


def _share(cell: CellSummary) -> float:
    """Return the share of the longer kind of gap."""
    if cell.itl_modes is not None and _two_heaps(cell):
        return cell.itl_modes.modes[1].share
    return 0.0 if cell.prefill_steps is None else cell.prefill_steps.share


def _kinds(cell: CellSummary) -> str:
    """Return both kinds: by the heaps that gaps fall into, or else by the prefill that they carry."""
    steps = cell.prefill_steps
    if cell.itl_modes is not None and _two_heaps(cell):
        return " and ".join(f"{mode.share:.0%} at {number(mode.center_ms)} ms" for mode in cell.itl_modes.modes)
    if steps is None:
        return ""
    without, carrying = _ms(steps.without_prefill_ms), _ms(steps.with_prefill_ms)
    return f"{1 - steps.share:.0%} at {without} ms and {steps.share:.0%} at {carrying} ms"


def _carries(cell: CellSummary) -> bool:
    """Say whether the timelines show that the long gaps are those that carry a neighbour's prefill."""
    steps = cell.prefill_steps
    if steps is None or steps.with_prefill_ms is None or steps.without_prefill_ms is None:
        return False
    return steps.with_prefill_ms > KINDS_APART * steps.without_prefill_ms


def _why(cell: CellSummary) -> str:
    steps = cell.prefill_steps
    if steps is None or not _carries(cell):
        return ""
    return (
        f" The long ones carry a neighbour's prefill: {steps.share:.0%} of gaps end one, "
        f"{_ms(steps.with_prefill_ms)} ms in the median against {_ms(steps.without_prefill_ms)} ms without."
    )


def _far(times: Distribution) -> bool:
    return times.p50 is not None and times.mean is not None and times.mean > APART * times.p50


def _hits_apart(cell: CellSummary) -> bool:
    split = cell.ttft_by_cache
    if split is None or min(split.hits.n, split.misses.n) < ENOUGH:
        return False
    hit, miss = split.hits.p50, split.misses.p50
    return hit is not None and miss is not None and miss > KINDS_APART * hit


def _hit_words(cell: CellSummary) -> str:
    split = cell.ttft_by_cache
    return (
        ""
        if split is None
        else f"hits {split.hits.n} at {_ms(split.hits.p50)} ms, misses {split.misses.n} at {_ms(split.misses.p50)} ms"
    )


def _partly(rate: float | None) -> bool:
    return rate is not None and TELLS_LITTLE < rate < 1 - TELLS_LITTLE


def _ms(value: float | None) -> str:
    return "unknown" if value is None else number(value)
