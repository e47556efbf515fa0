"""What a run shows, in sentences with their evidence; a check is a function, and ``CHECKS`` lists them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from whichbits.analyze.alignment import alignments_apart
from whichbits.analyze.bands import SPREAD
from whichbits.analyze.books import Imbalance
from whichbits.analyze.load_curves import HEADLINES, METRICS, load_words, range_words
from whichbits.analyze.slo import slo_loads
from whichbits.analyze.summary import CellSummary, Crossing, Crossover, Finding
from whichbits.analyze.tails import pair_and_leads, tails_apart, tails_not_compared
from whichbits.record.schema import Manifest


@dataclass(frozen=True)
class Observed:
    """All that the checks look at."""

    manifest: Manifest
    cells: Sequence[CellSummary]
    crossovers: Sequence[Crossover] = ()
    crossovers_by_capacity: Sequence[Crossover] = ()
    imbalances: Mapping[int, Sequence[Imbalance]] = field(default_factory=dict)
    """By cell."""

    @property
    def done(self) -> list[CellSummary]:
        """The cells that ran to their end."""
        return [cell for cell in self.cells if cell.state == "done"]


QUIET_CORES = 0.1
"""Cores; an idle system's own daemons stay well below, and a tenth of a core already shifts a median visibly."""

Check = Callable[[Observed], Iterator[Finding]]


def findings(observed: Observed) -> tuple[Finding, ...]:
    """Run every check."""
    return tuple(finding for check in CHECKS for finding in check(observed))


def crossings(observed: Observed) -> Iterator[Finding]:
    """Name, for each metric, the pairs that trade places and the loads at which they do, or may."""
    unit = {"concurrency": "concurrent requests", "request_rate": "requests/s"}
    for metric in HEADLINES:
        name = METRICS[metric].name
        compared = [crossover for crossover in observed.crossovers if crossover.metric == metric]
        crossing = [crossover for crossover in compared if crossover.verdict == "crosses"]
        noisy = [crossover for crossover in compared if crossover.verdict == "noisy"]
        if crossing:
            pairs = "; ".join(_crossing_pair(crossover) for crossover in crossing)
            text = (
                f"In {name}, {len(crossing)} of {len(compared)} pairs of arms trade places "
                f"(loads in {unit.get(crossing[0].load_unit)}, 95 % intervals in parentheses): {pairs}."
            )
            yield Finding("observed", "crossover", text, tuple(_ratios(crossover) for crossover in crossing))
        if noisy:
            pairs = "; ".join(f"{' / '.join(crossover.arms)} ({_more(crossover)})" for crossover in noisy)
            text = (
                f"In {name}, {len(noisy)} of {len(compared)} pairs of arms are too noisy to say where which arm "
                f"leads. More repeats would settle it if estimates stay as they are: {pairs}."
            )
            yield Finding(
                "unresolved", "crossover_noisy", text, tuple(pair_and_leads(crossover) for crossover in noisy)
            )


def without_interval(observed: Observed) -> Iterator[Finding]:
    """Say that intervals from one repeat rest on an assumption."""
    if any(crossover.spread_assumed and crossover.verdict == "crosses" for crossover in observed.crossovers):
        text = (
            f"Crossings come from one repeat. How much repeats differ was not measured: their intervals assume that a "
            f"ratio of two arms varies by {SPREAD:.0%} from repeat to repeat. Raise `repeats` before acting on a "
            f"close one."
        )
        yield Finding("unresolved", "crossings_from_one_repeat", text)


def tails(observed: Observed) -> Iterator[Finding]:
    """Say where a tail tells another story than its median, and which tails are too thin to tell one."""
    yield from tails_apart(observed.crossovers)
    yield from tails_not_compared(observed.crossovers)


def alignments(observed: Observed) -> Iterator[Finding]:
    """Say where equal loads and equal shares of capacity give different answers."""
    yield from alignments_apart(observed.crossovers, observed.crossovers_by_capacity)


def service_levels(observed: Observed) -> Iterator[Finding]:
    """Say up to which load each arm holds the SLO, if there is one."""
    yield from slo_loads(observed.cells)


def unfinished(observed: Observed) -> Iterator[Finding]:
    """Say what an interrupted run does not cover."""
    missing = [cell for cell in observed.cells if cell.state != "done"]
    if missing:
        text = f"{len(missing)} of {len(observed.cells)} cells did not run to their end."
        yield Finding("observed", "unfinished", text, _evidence(missing))


def failures(observed: Observed) -> Iterator[Finding]:
    """Name each cell with failed requests, and how they failed."""
    for cell in observed.cells:
        if cell.failed:
            causes = ", ".join(f"{code} x {count}" for code, count in cell.errors.items())
            text = f"{_place(cell)}: {cell.failed} of {cell.requests} requests failed ({causes})."
            yield Finding("observed", "requests_failed", text, _evidence([cell]))


def client_limits(observed: Observed) -> Iterator[Finding]:
    """Name each cell in which the load generator may have set the pace."""
    for recorded in observed.manifest.cells:
        if recorded.client is None or recorded.client.verdict == "client_ok":
            continue
        cell = next(cell for cell in observed.cells if cell.cell == recorded.cell)
        limited = recorded.client.verdict == "client_limited"
        text = (
            f"{_place(cell)}: the client was the limit, so the cell is left out of comparisons."
            if limited
            else f"{_place(cell)}: the client may have been the limit."
        )
        code = "client_limited" if limited else "client_suspect"
        yield Finding("observed", code, text, (*_evidence([cell]), *recorded.client.reasons))


def unequal_work(observed: Observed) -> Iterator[Finding]:
    """Name the loads at which arms did not process the same tokens."""
    rounds: dict[tuple[int | None, float | None, int], list[CellSummary]] = {}
    for cell in observed.done:
        rounds.setdefault((cell.concurrency, cell.request_rate, cell.repeat), []).append(cell)
    for cells in rounds.values():
        for side in ("prompt_tokens", "output_tokens"):
            counts = {cell.arm: getattr(cell, side) for cell in cells if getattr(cell, side) is not None}
            if len(set(counts.values())) > 1:
                each = ", ".join(f"{arm} {count}" for arm, count in counts.items())
                text = f"Arms did not do equal work at {_load(cells[0])}: {side.replace('_', ' ')} were {each}."
                yield Finding("observed", "unequal_work", text, _evidence(cells))


def unbalanced_books(observed: Observed) -> Iterator[Finding]:
    """Name each cell in which client and engine count differently."""
    for cell in observed.cells:
        for wrong in observed.imbalances.get(cell.cell, ()):
            by = "the engines" if wrong.replica is None else f"replica {wrong.replica}"
            text = (
                f"{_place(cell)}: the client counts {wrong.client} {wrong.total.replace('_', ' ')}, "
                f"{by} {wrong.engine}."
            )
            yield Finding("observed", "books_disagree", text, _evidence([cell]))


def unverified_resets(observed: Observed) -> Iterator[Finding]:
    """Name the cells that were to be cold, and were not shown to be."""
    doubtful = {cell.cell: cell.cache_state or "" for cell in observed.manifest.cells}
    for cell in observed.done:
        state = doubtful.get(cell.cell, "")
        if state.startswith("unverified"):
            text = f"{_place(cell)}: the prefix cache was not shown to be empty ({state})."
            yield Finding("observed", "cache_reset_unverified", text, _evidence([cell]))


def unknown_cache(observed: Observed) -> Iterator[Finding]:
    """Say where nobody knows how much of the prompts came from a cache."""
    unknown = [cell for cell in observed.done if cell.prefix_hit_rate is None]
    if unknown:
        text = (
            f"Neither the answers nor the engine's counters say how many prompt tokens came from the prefix "
            f"cache in {len(unknown)} of {len(observed.done)} cells."
        )
        yield Finding("unresolved", "cache_unknown", text, _evidence(unknown))


def thin_tails(observed: Observed) -> Iterator[Finding]:
    """Count the cells whose p99 rests on a handful of requests."""
    thin = [cell for cell in observed.done if cell.tpot_ms.n and "p99" in cell.tpot_ms.thin]
    if thin:
        text = (
            f"The p99 of TPOT rests on fewer than 10 samples beyond it in {len(thin)} of "
            f"{len(observed.done)} cells; larger cells would settle it."
        )
        yield Finding("observed", "thin_tails", text, _evidence(thin))


def busy_machine(observed: Observed) -> Iterator[Finding]:
    """Name the cells during which something else used the machine that the study ran on."""
    busy = [cell for cell in observed.manifest.cells if (cell.other_cpu_cores or 0.0) > QUIET_CORES]
    if busy:
        most = max(busy, key=lambda cell: cell.other_cpu_cores or 0.0)
        numbers = {cell.cell for cell in busy}
        text = (
            f"The machine was not quiet in {len(busy)} of {len(observed.done)} cells: other processes kept up to "
            f"{most.other_cpu_cores:.2f} of its cores busy (cell {most.cell}). On a processor that serves the arms "
            f"itself, such cells are slower than they should be."
        )
        evidence = _evidence([cell for cell in observed.cells if cell.cell in numbers])
        yield Finding("observed", "machine_not_quiet", text, evidence)


def idle_activation_quantization(observed: Observed) -> Iterator[Finding]:
    """Name arms that claim narrow activations on a machine that computes with wide ones."""
    claiming = (arm for arm in observed.manifest.arms.values() if not arm.weight_format.endswith("16"))
    for arm in claiming:
        facts = [replica.facts.get("activation_quantization_effective") for replica in arm.replicas]
        idle = [fact for fact in facts if fact is not None and fact.value is False]
        if idle:
            text = (
                f"{arm.arm} claims {arm.weight_format}, but this machine does not quantise activations at run "
                f"time: only the width of its weights was measured, not that of its arithmetic."
            )
            lines = tuple(fact.line or fact.source for fact in idle)
            yield Finding("observed", "activation_quantization_ineffective", text, lines)


CHECKS: tuple[Check, ...] = (
    # What touches every number comes first, the crossings after it, what no data of this run can settle last.
    unfinished,
    failures,
    unbalanced_books,
    unequal_work,
    unverified_resets,
    client_limits,
    busy_machine,
    idle_activation_quantization,
    crossings,
    tails,
    alignments,
    service_levels,
    thin_tails,
    without_interval,
    unknown_cache,
)


def _crossing_pair(crossover: Crossover) -> str:
    *before, last = (_crossing_words(crossing) for crossing in crossover.crossings)
    if not before:
        return f"{_other(crossover)} passes {crossover.leader_low_load} at {last}"
    return f"{crossover.leader_low_load} and {_other(crossover)} swap at {', '.join(before)} and {last}"


def _crossing_words(crossing: Crossing) -> str:
    if crossing.low is None or crossing.high is None:
        return load_words(crossing.load)
    return f"{load_words(crossing.load)} ({range_words((crossing.low, crossing.high))})"


def _more(crossover: Crossover) -> str:
    more = crossover.repeats_needed
    return "more than anyone would run" if more is None else f"{more} more"


def _other(crossover: Crossover) -> str:
    first, second = crossover.arms
    return second if crossover.leader_low_load == first else first


def _ratios(crossover: Crossover) -> str:
    points = zip(crossover.loads, crossover.ratios, crossover.ratio_intervals, strict=True)
    ratios = ", ".join(f"{ratio:.2f} ({low:.2f} to {high:.2f}) at {load:g}" for load, ratio, (low, high) in points)
    return f"{' / '.join(crossover.arms)}: {ratios}"


def _load(cell: CellSummary) -> str:
    if cell.request_rate is None:
        return f"c{cell.concurrency}"
    return f"{cell.request_rate:g}/s" + ("" if cell.concurrency is None else f" cap {cell.concurrency}")


def _place(cell: CellSummary) -> str:
    return f"{cell.arm} at {_load(cell)}, repeat {cell.repeat}"


def _evidence(cells: Sequence[CellSummary]) -> tuple[str, ...]:
    """Name the cells in one line, runs of numbers folded: ``cells 0 to 3, 7``."""
    numbers = sorted(cell.cell for cell in cells)
    # Within a run of successive numbers, a number less its position stays the same.
    runs = [[n for _, n in run] for _, run in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0])]
    names = [f"{run[0]}" if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs]
    return (f"cell{'s' if len(numbers) > 1 else ''} {', '.join(names)}",)
