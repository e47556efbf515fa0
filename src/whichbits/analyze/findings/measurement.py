"""What a cell's numbers cannot say because of how they were taken: drains, medians, short answers, bucketed peaks."""

from collections.abc import Iterator

from whichbits.analyze.curves.drain import is_drained, waves
from whichbits.analyze.findings.observed import Observed, each, number, places
from whichbits.analyze.summary import CellSummary, Finding, WarmUp
from whichbits.language.amounts import amount
from whichbits.language.phrase import joined, listed, phrase

APART = 0.1
TAIL_APART = 2.0
SHORT = 8.0
EXCLUDED = 0.1


def drain_dominated(observed: Observed) -> Iterator[Finding]:
    """Name cells whose throughput holds a long drain, since they have few requests for their concurrency."""
    drained = [cell for cell in observed.done if is_drained(cell)]
    if drained:
        text = phrase(
            "Throughput holds a drain in {places}: there are so few requests for the concurrency that much "
            "of the cell passes with fewer in flight than it is named after. It depends on the longest "
            "answers and the order of sends as much as on the arm; so does a mean batch computed from it.",
            places=places(drained),
        )
        settled = phrase("cells of ten waves or more (`cell.per_stream: 10`), or throughput in the steady window")
        yield Finding("observed", "drain_dominated", text, each(drained, _waves_words), settled)


def throughput_drifts(observed: Observed) -> Iterator[Finding]:
    """Name cells whose throughput rose or fell for as long as they lasted."""
    drifting = [cell for cell in observed.done if cell.steady is not None and cell.steady.reason == "throughput_drifts"]
    if drifting:
        text = phrase(
            "Throughput never settles in {places}: it rises or falls from one end of the load to the other, "
            "so that every average depends on how long the cell lasted. Contexts that grow, a cache that "
            "fills, an arm that is not warm or a GPU that slows down look like this.",
            places=places(drifting),
        )
        lines = each(drifting, lambda cell: phrase("tokens/s change by {drift:+.0%}", drift=_drift(cell)))
        yield Finding(
            "observed", "throughput_drifts", text, lines, phrase("longer cells, and the GPU's clocks over them")
        )


def warm_up_gave_up(observed: Observed) -> Iterator[Finding]:
    """Name arms that were measured although their pace had not settled."""
    restless = [arm for arm in observed.arms.values() if arm.warm_up is not None and arm.warm_up.stable is False]
    if restless:
        text = phrase(
            "Warm-up gave up on {names}: no two rounds agreed on the pace, so that the first cells may hold "
            "compilation, graph capture or a machine that was busy.",
            names=listed([arm.arm for arm in restless]),
        )
        lines = tuple(
            phrase("{arm}: {rounds_words}", arm=arm.arm, rounds_words=_rounds_words(arm.warm_up))
            for arm in restless
            if arm.warm_up is not None
        )
        settled = phrase("more requests of warm-up (`warm_up.at_most_requests`)")
        yield Finding("observed", "warm_up_gave_up", text, lines, settled)


def median_based_batch(observed: Observed) -> Iterator[Finding]:
    """Say where throughput x median TPOT is no mean batch, since TPOT is skewed."""
    skewed = [cell for cell in observed.done if _is_skewed(cell)]
    if skewed:
        text = phrase(
            "The mean batch is throughput x median TPOT, which is Little's law only where TPOT has one "
            "value. In {places} it has not: the mean or the tail lies far from the median, so that a "
            "difference between arms in this figure may be one of skew, not of batch.",
            places=places(skewed),
        )
        settled = phrase("the engines' own number of running requests over the cell (`requests_running`)")
        yield Finding("observed", "median_based_batch", text, each(skewed, _batch_words), settled)


def short_outputs(observed: Observed) -> Iterator[Finding]:
    """Name cells whose answers are too short for a TPOT."""
    short = [cell for cell in observed.done if _is_short(cell)]
    if short:
        text = phrase(
            "Answers are too short for TPOT in {places}: it averages a handful of gaps, in which one step "
            "with a neighbour's prefill decides. It measures prefill there, not decoding.",
            places=places(short),
        )
        settled = phrase("the same prompts with answers of 64 tokens or more")
        yield Finding("observed", "short_outputs", text, each(short, _short_words), settled)


def peak_above_cap(observed: Observed) -> Iterator[Finding]:
    """Explain a peak concurrency above the cap, as other tools count it."""
    above = [cell for cell in observed.done if (cell.peak_concurrency or 0) > (cell.concurrency or 10**9)]
    if above and observed.manifest.source == "imported":
        text = phrase(
            "The peak concurrency is above the cap in {places}: the other tool counts requests that touch "
            "the same second, not requests at once. Those that follow each other within a second count "
            "together, the more the shorter they are.",
            places=places(above),
        )
        lines = each(
            above,
            lambda cell: phrase(
                "peak {peak_concurrency}, cap {concurrency}",
                peak_concurrency=cell.peak_concurrency,
                concurrency=cell.concurrency,
            ),
        )
        yield Finding("observed", "peak_above_cap", text, lines, phrase("an event sweep over send and finish times"))


def lengths_not_forced(observed: Observed) -> Iterator[Finding]:
    """Say that answers ended as they liked, so that arms may have done different work."""
    form = observed.manifest.study.get("request")
    if isinstance(form, dict) and form.get("forced_length") is False and len(observed.arms) > 1:
        text = phrase(
            "Answers were not forced to a length: each arm ends them where it likes, and arms of other bits "
            "give other answers. Throughput, drain and E2E then differ by length as well as by speed."
        )
        lines = (phrase("study: request.forced_length false"),)
        yield Finding(
            "unresolved", "lengths_not_forced", text, lines, phrase("the same run with `ignore_eos` and fixed lengths")
        )


def _drift(cell: CellSummary) -> float:
    return 0.0 if cell.steady is None or cell.steady.drift is None else cell.steady.drift


def _rounds_words(warm_up: WarmUp) -> str:
    took = "" if warm_up.seconds is None else phrase(", in {seconds} s", seconds=number(warm_up.seconds))
    return phrase(
        "medians of {count} rounds {list} ms{took}",
        count=len(warm_up.rounds_ms),
        list=joined(", ", map(number, warm_up.rounds_ms)),
        took=took,
    )


def _waves_words(cell: CellSummary) -> str:
    steady = cell.steady_output_tokens_per_s
    beside = "" if steady is None else phrase("; steady {steady}", steady=number(steady))
    if cell.drain is not None:
        beside += phrase(
            "; drain {seconds} s, {share:.0%} of the cell", seconds=number(cell.drain.seconds), share=cell.drain.share
        )
    return phrase(
        "{requests} / {streams} = {waves:.1f} waves; output {output_tokens_per_s} tokens/s{beside}",
        requests=amount(cell.requests, "request"),
        streams=amount(cell.concurrency or 0, "stream"),
        waves=waves(cell) or 0,
        output_tokens_per_s=number(cell.output_tokens_per_s or 0),
        beside=beside,
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
    told = [phrase("by the median {mean_batch}", mean_batch=number(cell.mean_batch or 0))]
    if mean is not None:
        told.append(
            phrase(
                "by the mean {output_tokens_per_s}",
                output_tokens_per_s=number((cell.output_tokens_per_s or 0) * mean / 1000.0),
            )
        )
    elif tail is not None:
        told.append(phrase("TPOT p99 / median {tail:.1f}, mean unknown", tail=tail / (cell.tpot_ms.p50 or 1)))
    if running is not None:
        told.append(phrase("running by the engines {mean}", mean=number(running.mean)))
    return joined("; ", told)


def _is_short(cell: CellSummary) -> bool:
    if not cell.served or not cell.output_tokens:
        return False
    return cell.output_tokens / cell.served < SHORT or cell.excluded_from_tpot > EXCLUDED * cell.served


def _short_words(cell: CellSummary) -> str:
    return phrase(
        "{output_tokens:.1f} output tokens a request; {excluded_from_tpot} without TPOT",
        output_tokens=cell.output_tokens / cell.served,
        excluded_from_tpot=cell.excluded_from_tpot,
    )
