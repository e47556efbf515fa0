"""Whether a cell is over its arm's capacity: a queue, a full KV cache, a scheduler's cap; and who had room to spare."""

from collections.abc import Iterator

from whichbits.analyze.findings.observed import Observed, each, number, of_arm, places, replicas_of
from whichbits.analyze.summary import CellSummary, Finding
from whichbits.language.amounts import amount
from whichbits.language.phrase import listed, phrase

QUEUED_SHARE = 0.5
SERVED_SHARE = 0.8
FULL = 0.95
POOLS_APART = 1.05
BATCHES_APART = 1.1


def saturated(observed: Observed) -> Iterator[Finding]:
    """Name cells in which the time to the first token is mostly a queue."""
    full = [cell for cell in observed.done if _may_wait(cell) and (_queue_share(cell) or 0) > QUEUED_SHARE]
    if full:
        text = phrase(
            "More is asked than is served in {places}: requests wait in the engine for longer than their "
            "prefill takes, so TTFT there is a queue's length, not an arm's speed, and grows with the length "
            "of the cell. An arm that is slightly slower looks far worse in TTFT.",
            places=places(full),
        )
        lines = each(
            full,
            lambda cell: phrase(
                "queue / (queue + prefill) {queue_share:.0%}{waiting_words}",
                queue_share=_queue_share(cell),
                waiting_words=_waiting_words(cell),
            ),
        )
        settled = phrase("lower loads in between: the highest load that each arm holds without a queue")
        yield Finding("interpretation", "saturated", text, lines, settled)


def rate_not_reached(observed: Observed) -> Iterator[Finding]:
    """Name cells that were to send at a rate which the arm could not serve."""
    behind = [cell for cell in observed.done if is_behind(cell)]
    if behind:
        text = phrase(
            "Requests came faster than they were served in {places}. Without a cap a queue grows for as long "
            "as the cell lasts; with one, the loop is closed by the cap and the rate means nothing. Tools "
            "that time from the send leave the wait before it out of TTFT.",
            places=places(behind),
        )
        lines = each(behind, _served_words)
        settled = phrase("rates that each arm can serve, with TTFT from the scheduled time")
        yield Finding("observed", "rate_not_reached", text, lines, settled)


def kv_starved(observed: Observed) -> Iterator[Finding]:
    """Name cells in which the KV cache was full."""
    short = [cell for cell in observed.done if _is_starved(cell)]
    if short:
        text = phrase(
            "The KV cache was full in {places}: requests were preempted and computed again, or waited for "
            "room. There an arm with smaller weights wins by the room that they leave, whatever its kernels "
            "do.",
            places=places(short),
        )
        lines = each(short, _starved_words)
        settled = phrase("the same cells with KV caches of one size for all arms (`num_gpu_blocks_override`)")
        yield Finding("interpretation", "kv_starved", text, lines, settled)


def batch_cap(observed: Observed) -> Iterator[Finding]:
    """Name cells in which the scheduler's cap on requests bound, and not the KV cache."""
    capped = [cell for cell in observed.done if _is_capped(observed, cell) and not _is_starved(cell)]
    if capped:
        text = phrase(
            "max_num_seqs is the limit in {places}: that many requests run, the others wait. More room for "
            "the KV cache, which fewer bits leave, cannot make these batches larger.",
            places=places(capped),
        )
        lines = each(
            capped,
            lambda cell: phrase(
                "max_num_seqs {cap} x {replicas}, concurrency {concurrency}",
                cap=_cap(observed, cell),
                replicas=amount(replicas_of(observed, cell.arm), "replica"),
                concurrency=cell.concurrency,
            ),
        )
        yield Finding(
            "observed", "batch_cap", text, lines, phrase("the same loads with a larger max_num_seqs for all arms")
        )


def larger_cache_unused(observed: Observed) -> Iterator[Finding]:
    """Say that KV caches of different size cannot have made different batches: all held all requests."""
    rooms = {arm.arm: arm.capacity for arm in observed.arms.values() if arm.capacity is not None}
    fits = {arm: room.requests_that_fit for arm, room in rooms.items() if room.requests_that_fit and room.offered}
    offered = [room.offered for room in rooms.values() if room.offered is not None]
    if len(fits) < 2 or len(fits) < len(rooms):
        return
    sizes = [room.kv_cache_tokens for room in rooms.values()]
    roomy = all(fit > max(offered) for fit in fits.values()) and not any(_is_starved(cell) for cell in observed.done)
    if roomy and max(sizes) > POOLS_APART * min(sizes):
        held = listed(phrase("{arm} holds {fit:.0f}", arm=arm, fit=fit) for arm, fit in fits.items())
        text = phrase(
            "No arm was short of KV cache: {held} requests of this traffic on average, and at most "
            "{offered:g} are asked of a replica. The larger cache of an arm let no more requests run at once "
            "than the smaller.{batches}",
            held=held,
            offered=max(offered),
            batches=_batches(observed),
        )
        lines = tuple(
            phrase(
                "{arm}: {kv_cache_tokens:,} tokens / {tokens_per_request:.0f} tokens a request = {fits:.1f}",
                arm=arm,
                kv_cache_tokens=room.kv_cache_tokens,
                tokens_per_request=room.tokens_per_request,
                fits=fits[arm],
            )
            for arm, room in rooms.items()
        )
        settled = phrase("the engines' own number of running requests, second by second")
        yield Finding("observed", "larger_cache_unused", text, lines, settled)


def _batches(observed: Observed) -> str:
    """Add a sentence if batches at the highest load differ all the same."""
    tops = [cells[-1] for arm in observed.arms if (cells := of_arm(observed, arm))]
    known = {cell.arm: cell.mean_batch for cell in tops if cell.mean_batch}
    if len(known) < 2 or max(known.values()) <= BATCHES_APART * min(known.values()):
        return ""
    told = listed(phrase("{arm} {batch:.1f}", arm=arm, batch=batch) for arm, batch in known.items())
    return phrase(" That mean batches at the highest load differ ({told}) has another cause than room.", told=told)


def is_behind(cell: CellSummary) -> bool:
    """Return whether requests came faster than they were served: within the steady window where there is one."""
    rates = cell.arrival_rates
    if cell.steady is not None and cell.steady.reason == "in_flight_grows":
        return True
    if rates is not None and rates.steady_served is not None:
        return rates.steady_served < SERVED_SHARE * _due(rates.asked, rates.steady_planned)
    # Such a cell also lasts until its last answer: short ones lose a tenth to that alone.
    served = cell.requests_per_s
    if cell.request_rate is None or served is None:
        return False
    return served < SERVED_SHARE * _due(cell.request_rate, None if rates is None else rates.planned)


def _due(asked: float, planned: float | None) -> float:
    """Return the lower rate: fewer may be planned by chance, or because a ramp reaches the load's rate at its end."""
    return asked if planned is None else min(asked, planned)


def _served_words(cell: CellSummary) -> str:
    rates = cell.arrival_rates
    if rates is None or rates.steady_served is None:
        planned = (
            ""
            if rates is None or rates.planned is None
            else phrase(", {planned} planned", planned=number(rates.planned))
        )
        return phrase(
            "{requests_per_s} of {request_rate:g} requests/s{planned}",
            requests_per_s=number(cell.requests_per_s or 0),
            request_rate=cell.request_rate,
            planned=planned,
        )
    planned = (
        ""
        if rates.steady_planned is None
        else phrase(", {steady_planned} planned", steady_planned=number(rates.steady_planned))
    )
    within = phrase(
        "within the steady window {steady_sent} sent{planned}",
        steady_sent=number(rates.steady_sent or 0),
        planned=planned,
    )
    return phrase(
        "{steady_served} of {asked:g} requests/s ({within})",
        steady_served=number(rates.steady_served),
        asked=rates.asked,
        within=within,
    )


def _waits(cell: CellSummary) -> bool:
    return cell.requests_waiting is not None and cell.requests_waiting.peak > 0


def _may_wait(cell: CellSummary) -> bool:
    return cell.requests_waiting is None or cell.requests_waiting.peak > 0


def _waiting_words(cell: CellSummary) -> str:
    return (
        "" if cell.requests_waiting is None else phrase(", waiting at most {peak:g}", peak=cell.requests_waiting.peak)
    )


def _queue_share(cell: CellSummary) -> float | None:
    return None if cell.latency_split is None else cell.latency_split.queue_share_of_ttft


def _is_starved(cell: CellSummary) -> bool:
    full = cell.kv_cache_usage is not None and cell.kv_cache_usage.peak >= FULL and _waits(cell)
    return full or (cell.preemptions or 0) > 0


def _starved_words(cell: CellSummary) -> str:
    usage = phrase("unknown") if cell.kv_cache_usage is None else f"{cell.kv_cache_usage.peak:.0%}"
    preemptions = phrase("unknown") if cell.preemptions is None else number(cell.preemptions)
    return phrase("preemptions {preemptions}, KV cache use at most {usage}", preemptions=preemptions, usage=usage)


def _cap(observed: Observed, cell: CellSummary) -> int | None:
    arm = observed.arms.get(cell.arm)
    value = None if arm is None else arm.facts.get("max_num_seqs")
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _is_capped(observed: Observed, cell: CellSummary) -> bool:
    cap = _cap(observed, cell)
    if cap is None or cell.concurrency is None:
        return False
    together = cap * replicas_of(observed, cell.arm)
    running = cell.requests_running
    # Without the engines' own count, a closed loop with more streams than the cap must wait.
    return cell.concurrency > together and (running is None or running.peak >= together)
