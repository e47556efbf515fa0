"""Where requests spend their time: prefill or decode, queue or work, and the two kinds of steps behind ITL."""

from collections.abc import Iterator

from whichbits.analyze.findings.front_end import comes_in_bursts
from whichbits.analyze.findings.observed import Observed, each, evidence, load_of, number, of_arm, places
from whichbits.analyze.summary import CellSummary, Distribution, Finding, LatencySplit
from whichbits.language.phrase import first_of, joined, listed, phrase

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
        text = phrase(
            "Prefill sets the pace in {places}. It multiplies whole prompts, so it is limited by FLOP/s and "
            "not by the bytes of weights: formats that only store weights in fewer bits (W4A16) save nothing "
            "there and pay for unpacking; formats that compute in 8 bits can gain.",
            places=places(cells),
        )
        lines = each(cells, lambda cell: bound[cell.cell][1])
        settled = phrase("the same arms with short prompts and long answers, and prefill alone (one output token)")
        yield Finding("interpretation", "prefill_bound", text, lines, settled)


def latency_split(observed: Observed) -> Iterator[Finding]:
    """Say for each arm, at its lowest and highest load, where a request's time goes."""
    ends = [cell for arm in observed.arms for cell in _ends(of_arm(observed, arm)) if _whole(cell.latency_split)]
    if ends:
        told = first_of(
            "; ",
            [
                phrase("{arm} at {load_of} {stages}", arm=cell.arm, load_of=load_of(cell), stages=_stages(cell))
                for cell in ends
            ],
        )
        text = phrase("Where a request's time goes, by the engines' own clocks (means): {told}.", told=told)
        yield Finding("observed", "latency_split", text, evidence(ends))


def two_kinds_of_steps(observed: Observed) -> Iterator[Finding]:
    """Explain a median ITL far from its mean by steps that carry a neighbour's prefill and steps that do not."""
    split = [cell for cell in observed.done if _has_two_kinds(cell) and not comes_in_bursts(cell)]
    if split:
        shown = max(split, key=_share)
        text = phrase(
            "There are two kinds of steps in {places}: {kinds}. The median "
            "shows the commoner kind and jumps to the other when their shares pass a half; a percentile "
            "beyond the rarer one's share shows that one; the mean lies between. Compare shares and lengths "
            "of both, not single numbers of ITL.{why}",
            places=places(split),
            kinds=_kinds(shown) if len(split) == 1 else _clearest(shown),
            why=_why(shown),
        )
        if _carries(shown):
            yield Finding("observed", "two_kinds_of_steps", text, each(split, _kinds))
        else:
            settled = phrase("the prompt tokens that each step of the engine carried")
            yield Finding("interpretation", "two_kinds_of_steps", text, each(split, _kinds), settled)


def median_far_from_mean(observed: Observed) -> Iterator[Finding]:
    """Say where ITL has a median far from its mean, and no timelines to tell why."""
    unexplained = [cell for cell in observed.done if cell.itl_modes is None and not comes_in_bursts(cell)]
    odd = [cell for cell in unexplained if _far(cell.itl_ms)]
    if odd:
        text = phrase(
            "The mean ITL is far above the median in {places}, which one kind of steps does not give. Most "
            "likely steps with and without a neighbour's prefill are pooled; only the gaps themselves would "
            "show it. An arm with its median on the other kind can be just as fast.",
            places=places(odd),
        )
        lines = each(
            odd,
            lambda cell: phrase("ITL median {ms}, mean {ms_2} ms", ms=_ms(cell.itl_ms.p50), ms_2=_ms(cell.itl_ms.mean)),
        )
        yield Finding(
            "unresolved", "median_far_from_mean", text, lines, phrase("request timelines with the time of every chunk")
        )


def ttft_of_hits(observed: Observed) -> Iterator[Finding]:
    """Give TTFT of cache hits and misses apart, where both are many and differ."""
    apart = [cell for cell in observed.done if _hits_apart(cell)]
    if apart:
        text = phrase(
            "TTFT holds two populations in {places}: prompts found in the prefix cache and prompts computed. "
            "Its median moves with the hit rate; compare arms within each.",
            places=places(apart),
        )
        yield Finding("observed", "ttft_of_hits", text, each(apart, _hit_words))


def ttft_mixes_hits(observed: Observed) -> Iterator[Finding]:
    """Say where hits and misses are mixed in TTFT, and no request tells which it was."""
    mixed = [cell for cell in observed.done if cell.ttft_by_cache is None and _partly(cell.prefix_hit_rate)]
    if mixed:
        text = phrase(
            "Part of the prompts came from the prefix cache in {places}, and requests do not say which: TTFT "
            "pools hits and misses, and its percentiles depend on their shares.",
            places=places(mixed),
        )
        lines = each(
            mixed,
            lambda cell: phrase("prefix hit rate {prefix_hit_rate:.1%}", prefix_hit_rate=cell.prefix_hit_rate or 0),
        )
        settled = phrase("`usage.prompt_tokens_details` in the answers (vLLM: --enable-prompt-tokens-details)")
        yield Finding("unresolved", "ttft_mixes_hits", text, lines, settled)


def prefill_words(cell: CellSummary) -> str | None:
    """Return why prefill sets a cell's pace: by the engines' clocks, by the gaps, or by the traffic."""
    split = cell.latency_split
    if split is not None and split.prefill is not None and split.decode is not None:
        share = split.prefill / (split.prefill + split.decode)
        if share > MOSTLY:
            return phrase("prefill / (prefill + decode) {share:.0%} by the engines", share=share)
    gaps = cell.itl_modes
    if gaps is not None and (gaps.long_time_share or 0) > MOSTLY and _carries(cell):
        return phrase(
            "{long_time_share:.0%} of the time between tokens passes in steps that carry prefill",
            long_time_share=gaps.long_time_share,
        )
    ratio = _computed_per_output(cell)
    return (
        phrase("{ratio:.0f} prompt tokens computed for each output token", ratio=ratio)
        if ratio and ratio > PROMPT_TO_ANSWER
        else None
    )


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
    assert split is not None, phrase("only cells with a split are asked")  # noqa: S101 - narrows the type
    stages = {
        phrase("queue"): split.queue or 0.0,
        phrase("prefill"): split.prefill or 0.0,
        phrase("decode"): split.decode or 0.0,
    }
    whole = sum(stages.values())
    shares = joined(", ", (phrase("{name} {time:.0%}", name=name, time=time / whole) for name, time in stages.items()))
    return phrase("{shares} of {whole} ms", shares=shares, whole=number(whole))


def _clearest(cell: CellSummary) -> str:
    return phrase("clearest in {arm} at {load_of}, {kinds}", arm=cell.arm, load_of=load_of(cell), kinds=_kinds(cell))


def _has_two_kinds(cell: CellSummary) -> bool:
    return _two_heaps(cell) or (_carries(cell) and _share(cell) > SOME)


def _two_heaps(cell: CellSummary) -> bool:
    """Say whether gaps fall into two heaps; a handful beside all others is an accident, and no kind of step."""
    modes = () if cell.itl_modes is None else cell.itl_modes.modes
    return len(modes) == 2 and min(mode.share for mode in modes) >= SOME


def _share(cell: CellSummary) -> float:
    """Return the share of the longer kind of gap."""
    if cell.itl_modes is not None and _two_heaps(cell):
        return cell.itl_modes.modes[1].share
    return 0.0 if cell.prefill_steps is None else cell.prefill_steps.share


def _kinds(cell: CellSummary) -> str:
    """Return both kinds: by the heaps that gaps fall into, or else by the prefill that they carry."""
    steps = cell.prefill_steps
    if cell.itl_modes is not None and _two_heaps(cell):
        return listed(
            phrase("{share:.0%} at {center_ms} ms", share=mode.share, center_ms=number(mode.center_ms))
            for mode in cell.itl_modes.modes
        )
    if steps is None:
        return ""
    without, carrying = _ms(steps.without_prefill_ms), _ms(steps.with_prefill_ms)
    return phrase(
        "{share:.0%} at {without} ms and {share_2:.0%} at {carrying} ms",
        share=1 - steps.share,
        without=without,
        share_2=steps.share,
        carrying=carrying,
    )


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
    return phrase(
        " The long ones carry a neighbour's prefill: {share:.0%} of gaps end one, {ms} ms in the median "
        "against {ms_2} ms without.",
        share=steps.share,
        ms=_ms(steps.with_prefill_ms),
        ms_2=_ms(steps.without_prefill_ms),
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
        else phrase(
            "hits {n} at {ms} ms, misses {n_2} at {ms_2} ms",
            n=split.hits.n,
            ms=_ms(split.hits.p50),
            n_2=split.misses.n,
            ms_2=_ms(split.misses.p50),
        )
    )


def _partly(rate: float | None) -> bool:
    return rate is not None and TELLS_LITTLE < rate < 1 - TELLS_LITTLE


def _ms(value: float | None) -> str:
    return phrase("unknown") if value is None else number(value)
