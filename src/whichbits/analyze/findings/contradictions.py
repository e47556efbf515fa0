"""Arms whose throughput and latencies cannot both be those of a steady closed loop with equal work."""

from collections.abc import Iterator
from itertools import combinations

from whichbits.analyze.curves.load_curves import MARGIN, why_unusable
from whichbits.analyze.findings.observed import Observed, evidence, load_of, number
from whichbits.analyze.summary import CellSummary, Distribution, Finding
from whichbits.language.phrase import phrase


def throughput_against_latency(observed: Observed) -> Iterator[Finding]:
    """Name pairs of which one arm leads in both median latencies and the other in throughput, at one concurrency.

    In a closed loop with equal work, throughput is concurrency x tokens / mean E2E: the faster answers win.
    """
    for leader, other in _pairs(observed):
        text = phrase(
            "At {load_of} {arm} has the lower median TTFT and TPOT, and {arm_2} the higher throughput. With "
            "that many streams always busy and equal answers both cannot be: throughput is then streams x "
            "tokens / mean E2E. So the medians are not the means, the streams were not always busy (a "
            "drain), or the answers were not equally long; room for a larger batch is no explanation.",
            load_of=load_of(leader),
            arm=leader.arm,
            arm_2=other.arm,
        )
        lines = (*evidence([leader, other]), _words(leader), _words(other))
        settled = phrase("mean E2E and output tokens of each arm, and throughput in the steady window of longer cells")
        yield Finding("unresolved", "throughput_against_latency", text, lines, settled)


def _pairs(observed: Observed) -> Iterator[tuple[CellSummary, CellSummary]]:
    closed = [cell for cell in observed.done if cell.request_rate is None and (cell.concurrency or 0) > 1]
    for one, two in combinations((cell for cell in closed if why_unusable(cell) is None), 2):
        alike = (one.concurrency, one.repeat) == (two.concurrency, two.repeat)
        for leader, other in ((one, two), (two, one)):
            if alike and one.arm != two.arm and _contradicts(leader, other):
                yield leader, other


def _contradicts(leader: CellSummary, other: CellSummary) -> bool:
    faster = _below(leader.tpot_ms, other.tpot_ms) and _below(leader.ttft_ms, other.ttft_ms)
    less, more = leader.output_tokens_per_s, other.output_tokens_per_s
    return faster and less is not None and more is not None and more > (1 + MARGIN) * less


def _below(one: Distribution, other: Distribution) -> bool:
    return one.p50 is not None and other.p50 is not None and (1 + MARGIN) * one.p50 < other.p50


def _words(cell: CellSummary) -> str:
    return phrase(
        "{arm}: median TTFT {p50} ms, median TPOT {p50_2} ms, output {output_tokens_per_s} tokens/s",
        arm=cell.arm,
        p50=number(cell.ttft_ms.p50 or 0),
        p50_2=number(cell.tpot_ms.p50 or 0),
        output_tokens_per_s=number(cell.output_tokens_per_s or 0),
    )
