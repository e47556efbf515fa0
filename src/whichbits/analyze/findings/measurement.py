"""What a cell's numbers cannot say because of how they were taken: drains, medians, short answers, bucketed peaks."""

from collections.abc import Iterator

from whichbits.analyze.findings.observed import Observed, each, listed, number, places
from whichbits.analyze.load_curves import load_unit
from whichbits.analyze.summary import CellSummary, Finding, WarmUp

FEW_WAVES = 4.0
DRAINED = 0.1
APART = 0.1
TAIL_APART = 2.0
SHORT = 8.0
EXCLUDED = 0.1


def drain_dominated(observed: Observed) -> Iterator[Finding]:
    """Name cells whose throughput holds a long drain, since they have few requests for their concurrency."""
    drained = [cell for cell in observed.done if _is_drained(cell)]
    if drained:
        text = (
            f"Throughput holds a drain in {places(drained)}: there are so few requests for the concurrency that much "
            f"of the cell passes with fewer in flight than it is named after. It depends on the longest answers and "
            f"the order of sends as much as on the arm; so does a mean batch computed from it."
        )
        settled = "cells of ten waves or more (`cell.per_stream: 10`), or throughput in the steady window"
        yield Finding("observed", "drain_dominated", text, each(drained, _waves_words), settled)


def throughput_drifts(observed: Observed) -> Iterator[Finding]:
    """Name cells whose throughput rose or fell for as long as they lasted."""
    drifting = [cell for cell in observed.done if cell.steady is not None and cell.steady.reason == "throughput_drifts"]
    if drifting:
        text = (
            f"Throughput never settles in {places(drifting)}: it rises or falls from one end of the load to the other, "
            f"so that every average depends on how long the cell lasted. Contexts that grow, a cache that fills, an "
            f"arm that is not warm or a GPU that slows down look like this."
        )
        lines = each(drifting, lambda cell: f"tokens/s change by {_drift(cell):+.0%}")
        yield Finding("observed", "throughput_drifts", text, lines, "longer cells, and the GPU's clocks over them")


def warm_up_gave_up(observed: Observed) -> Iterator[Finding]:
    """Name arms that were measured although their pace had not settled."""
    restless = [arm for arm in observed.arms.values() if arm.warm_up is not None and arm.warm_up.stable is False]
    if restless:
        text = (
            f"Warm-up gave up on {listed([arm.arm for arm in restless])}: no two rounds agreed on the pace, so that "
            f"the first cells may hold compilation, graph capture or a machine that was busy."
        )
        lines = tuple(f"{arm.arm}: {_rounds_words(arm.warm_up)}" for arm in restless if arm.warm_up is not None)
        settled = "more requests of warm-up (`warm_up.at_most_requests`)"
        yield Finding("observed", "warm_up_gave_up", text, lines, settled)


def median_based_batch(observed: Observed) -> Iterator[Finding]:
    """Say where throughput x median TPOT is no mean batch, since TPOT is skewed."""
    skewed = [cell for cell in observed.done if _is_skewed(cell)]
    if skewed:
        text = (
            f"The mean batch is throughput x median TPOT, which is Little's law only where TPOT has one value. In "
            f"{places(skewed)} it has not: the mean or the tail lies far from the median, so that a difference between "
            f"arms in this figure may be one of skew, not of batch."
        )
        settled = "the engines' own number of running requests over the cell (`requests_running`)"
        yield Finding("observed", "median_based_batch", text, each(skewed, _batch_words), settled)


def short_outputs(observed: Observed) -> Iterator[Finding]:
    """Name cells whose answers are too short for a TPOT."""
    short = [cell for cell in observed.done if _is_short(cell)]
    if short:
        text = (
            f"Answers are too short for TPOT in {places(short)}: it averages a handful of gaps, in which one step "
            f"with a neighbour's prefill decides. It measures prefill there, not decoding."
        )
        settled = "the same prompts with answers of 64 tokens or more"
        yield Finding("observed", "short_outputs", text, each(short, _short_words), settled)


def peak_above_cap(observed: Observed) -> Iterator[Finding]:
    """Explain a peak concurrency above the cap, as other tools count it."""
    above = [cell for cell in observed.done if (cell.peak_concurrency or 0) > (cell.concurrency or 10**9)]
    if above and observed.manifest.source == "imported":
        text = (
            f"The peak concurrency is above the cap in {places(above)}: the other tool counts requests that touch the "
            f"same second, not requests at once. Those that follow each other within a second count together, the "
            f"more the shorter they are."
        )
        lines = each(above, lambda cell: f"peak {cell.peak_concurrency}, cap {cell.concurrency}")
        yield Finding("observed", "peak_above_cap", text, lines, "an event sweep over send and finish times")


def lengths_not_forced(observed: Observed) -> Iterator[Finding]:
    """Say that answers ended as they liked, so that arms may have done different work."""
    form = observed.manifest.study.get("request")
    if isinstance(form, dict) and form.get("forced_length") is False and len(observed.arms) > 1:
        text = (
            "Answers were not forced to a length: each arm ends them where it likes, and arms of other bits give "
            "other answers. Throughput, drain and E2E then differ by length as well as by speed."
        )
        lines = ("study: request.forced_length false",)
        yield Finding(
            "unresolved", "lengths_not_forced", text, lines, "the same run with `ignore_eos` and fixed lengths"
        )


def _drift(cell: CellSummary) -> float:
    return 0.0 if cell.steady is None or cell.steady.drift is None else cell.steady.drift


def _rounds_words(warm_up: WarmUp) -> str:
    took = "" if warm_up.seconds is None else f", in {number(warm_up.seconds)} s"
    return f"medians of {len(warm_up.rounds_ms)} rounds {', '.join(map(number, warm_up.rounds_ms))} ms{took}"


def _waves(cell: CellSummary) -> float | None:
    return cell.requests / cell.concurrency if cell.concurrency and load_unit([cell]) == "concurrency" else None


def _is_drained(cell: CellSummary) -> bool:
    waves, whole, steady = _waves(cell), cell.output_tokens_per_s, cell.steady_output_tokens_per_s
    if waves is None or not cell.requests or (cell.concurrency or 0) < 2 or whole is None:
        return False
    if steady is not None:
        return steady > (1 + DRAINED) * whole
    return waves < FEW_WAVES


def _waves_words(cell: CellSummary) -> str:
    steady = cell.steady_output_tokens_per_s
    beside = "" if steady is None else f"; steady {number(steady)}"
    if cell.drain is not None:
        beside += f"; drain {number(cell.drain.seconds)} s, {cell.drain.share:.0%} of the cell"
    return (
        f"{cell.requests} requests / {cell.concurrency} streams = {_waves(cell) or 0:.1f} waves; "
        f"output {number(cell.output_tokens_per_s or 0)} tokens/s{beside}"
    )


def _is_skewed(cell: CellSummary) -> bool:
    middle, mean, tail = cell.tpot_ms.p50, cell.tpot_ms.mean, cell.tpot_ms.p99
    if not cell.mean_batch or not middle or (cell.concurrency or 2) < 2:
        return False
    if mean is not None:
        return abs(mean / middle - 1) > APART
    return tail is not None and tail > TAIL_APART * middle


def _batch_words(cell: CellSummary) -> str:
    mean, tail, running = cell.tpot_ms.mean, cell.tpot_ms.p99, cell.requests_running
    told = [f"by the median {number(cell.mean_batch or 0)}"]
    if mean is not None:
        told.append(f"by the mean {number((cell.output_tokens_per_s or 0) * mean / 1e3)}")
    elif tail is not None:
        told.append(f"TPOT p99 / median {tail / (cell.tpot_ms.p50 or 1):.1f}, mean unknown")
    if running is not None:
        told.append(f"running by the engines {number(running.mean)}")
    return "; ".join(told)


def _is_short(cell: CellSummary) -> bool:
    served = cell.requests - cell.failed
    if served <= 0 or not cell.output_tokens:
        return False
    return cell.output_tokens / served < SHORT or cell.excluded_from_tpot > EXCLUDED * served


def _short_words(cell: CellSummary) -> str:
    served = cell.requests - cell.failed
    return f"{cell.output_tokens / served:.1f} output tokens a request; {cell.excluded_from_tpot} without TPOT"
