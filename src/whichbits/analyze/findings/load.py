"""Whether a cell is over its arm's capacity: a queue, a full KV cache, a scheduler's cap; and who had room to spare."""

from collections.abc import Iterator

from whichbits.analyze.findings.observed import Observed, each, listed, number, of_arm, places, replicas_of
from whichbits.analyze.summary import CellSummary, Finding

QUEUED_SHARE = 0.5
SERVED_SHARE = 0.8
FULL = 0.95
POOLS_APART = 1.05
BATCHES_APART = 1.1


def saturated(observed: Observed) -> Iterator[Finding]:
    """Name cells in which the time to the first token is mostly a queue."""
    full = [cell for cell in observed.done if _may_wait(cell) and (_queue_share(cell) or 0) > QUEUED_SHARE]
    if full:
        text = (
            f"More is asked than is served in {places(full)}: requests wait in the engine for longer than their "
            f"prefill takes, so TTFT there is a queue's length, not an arm's speed, and grows with the length of the "
            f"cell. An arm that is slightly slower looks far worse in TTFT."
        )
        lines = each(full, lambda cell: f"queue / (queue + prefill) {_queue_share(cell):.0%}{_waiting_words(cell)}")
        settled = "lower loads in between: the highest load that each arm holds without a queue"
        yield Finding("interpretation", "saturated", text, lines, settled)


def rate_not_reached(observed: Observed) -> Iterator[Finding]:
    """Name cells that were to send at a rate which the arm could not serve."""
    behind = [cell for cell in observed.done if is_behind(cell)]
    if behind:
        text = (
            f"Requests came faster than they were served in {places(behind)}. Without a cap a queue grows for as long "
            f"as the cell lasts; with one, the loop is closed by the cap and the rate means nothing. Tools that time "
            f"from the send leave the wait before it out of TTFT."
        )
        lines = each(behind, _served_words)
        settled = "rates that each arm can serve, with TTFT from the scheduled time"
        yield Finding("observed", "rate_not_reached", text, lines, settled)


def kv_starved(observed: Observed) -> Iterator[Finding]:
    """Name cells in which the KV cache was full."""
    short = [cell for cell in observed.done if _is_starved(cell)]
    if short:
        text = (
            f"The KV cache was full in {places(short)}: requests were preempted and computed again, or waited for "
            f"room. There an arm with smaller weights wins by the room that they leave, whatever its kernels do."
        )
        lines = each(short, _starved_words)
        settled = "the same cells with KV caches of one size for all arms (`num_gpu_blocks_override`)"
        yield Finding("interpretation", "kv_starved", text, lines, settled)


def batch_cap(observed: Observed) -> Iterator[Finding]:
    """Name cells in which the scheduler's cap on requests bound, and not the KV cache."""
    capped = [cell for cell in observed.done if _is_capped(observed, cell) and not _is_starved(cell)]
    if capped:
        text = (
            f"max_num_seqs is the limit in {places(capped)}: that many requests run, the others wait. More room for "
            f"the KV cache, which fewer bits leave, cannot make these batches larger."
        )
        lines = each(
            capped,
            lambda cell: (
                f"max_num_seqs {_cap(observed, cell)} x {replicas_of(observed, cell.arm)} replicas, "
                f"concurrency {cell.concurrency}"
            ),
        )
        yield Finding("observed", "batch_cap", text, lines, "the same loads with a larger max_num_seqs for all arms")


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
        held = listed(f"{arm} holds {fit:.0f}" for arm, fit in fits.items())
        text = (
            f"No arm was short of KV cache: {held} requests of this traffic on average, and at most {max(offered):g} "
            f"are asked of a replica. The larger cache of an arm let no more requests run at once than the "
            f"smaller.{_batches(observed)}"
        )
        lines = tuple(
            f"{arm}: {room.kv_cache_tokens:,} tokens / {room.tokens_per_request:.0f} tokens a request = {fits[arm]:.1f}"
            for arm, room in rooms.items()
        )
        settled = "the engines' own number of running requests, second by second"
        yield Finding("observed", "larger_cache_unused", text, lines, settled)


def _batches(observed: Observed) -> str:
    """Add a sentence if batches at the highest load differ all the same."""
    tops = [cells[-1] for arm in observed.arms if (cells := of_arm(observed, arm))]
    known = {cell.arm: cell.mean_batch for cell in tops if cell.mean_batch}
    if len(known) < 2 or max(known.values()) <= BATCHES_APART * min(known.values()):
        return ""
    told = listed(f"{arm} {batch:.1f}" for arm, batch in known.items())
    return f" That mean batches at the highest load differ ({told}) has another cause than room."


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
        planned = "" if rates is None or rates.planned is None else f", {number(rates.planned)} planned"
        return f"{number(cell.requests_per_s or 0)} of {cell.request_rate:g} requests/s{planned}"
    planned = "" if rates.steady_planned is None else f", {number(rates.steady_planned)} planned"
    within = f"within the steady window {number(rates.steady_sent or 0)} sent{planned}"
    return f"{number(rates.steady_served)} of {rates.asked:g} requests/s ({within})"


def _waits(cell: CellSummary) -> bool:
    return cell.requests_waiting is not None and cell.requests_waiting.peak > 0


def _may_wait(cell: CellSummary) -> bool:
    return cell.requests_waiting is None or cell.requests_waiting.peak > 0


def _waiting_words(cell: CellSummary) -> str:
    return "" if cell.requests_waiting is None else f", waiting at most {cell.requests_waiting.peak:g}"


def _queue_share(cell: CellSummary) -> float | None:
    return None if cell.latency_split is None else cell.latency_split.queue_share_of_ttft


def _is_starved(cell: CellSummary) -> bool:
    full = cell.kv_cache_usage is not None and cell.kv_cache_usage.peak >= FULL and _waits(cell)
    return full or (cell.preemptions or 0) > 0


def _starved_words(cell: CellSummary) -> str:
    usage = "unknown" if cell.kv_cache_usage is None else f"{cell.kv_cache_usage.peak:.0%}"
    preemptions = "unknown" if cell.preemptions is None else number(cell.preemptions)
    return f"preemptions {preemptions}, KV cache use at most {usage}"


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
