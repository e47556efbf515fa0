"""What a decode step's bytes explain of its time, and of the difference between two arms."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from whichbits.analyze.findings.observed import Observed, bits, each, listed, load_of, number, of_arm, places
from whichbits.analyze.findings.phases import prefill_words
from whichbits.analyze.roofline import StepSplit
from whichbits.analyze.summary import ArmSummary, CellSummary, Finding

FEW = 4.0
"""Requests in a step up to which it is read-bound on every device of the table."""
MUCH_LEFT = 0.35
LITTLE = 0.3
_PROFILER = "the engine's profiler over some steps: time in GEMM, attention, other kernels, and gaps between kernels"


class _Step(NamedTuple):
    cell: CellSummary
    ms: float
    split: StepSplit

    @property
    def left_share(self) -> float:
        return self.split.left_over / self.ms


def left_over(observed: Observed) -> Iterator[Finding]:
    """Name steps of few requests that last far longer than their bytes take, and what that is not."""
    steps = _low_steps(observed)
    long = [step for step in steps if step.left_share > MUCH_LEFT]
    if long:
        text = (
            f"A large part of a step is not explained by what it reads in {places([step.cell for step in long])}: "
            f"launches, the host's scheduling, unpacking of weights, and bandwidth that kernels do not reach. "
            f"Fewer bits do not shorten this part.{_beside_wide(observed, steps, long)}"
        )
        lines = each([step.cell for step in long], lambda cell: _left_words(next(s for s in long if s.cell is cell)))
        yield Finding("interpretation", "left_over", text, lines, _PROFILER)


def little_to_save(observed: Observed) -> Iterator[Finding]:
    """Say that reading weights is a small part of the 16-bit arm's step: fewer bits cannot save more than that."""
    little = [
        step for step in _low_steps(observed) if _is_wide(observed, step.cell) and step.split.weights < LITTLE * step.ms
    ]
    if little:
        cells = [step.cell for step in little]
        shares = {step.cell.cell: step.split.weights / step.ms for step in little}
        text = (
            f"The model is small for this device: in {places(cells)} reading all weights is at most "
            f"{max(shares.values()):.0%} of a step, in 16 bits. Fewer bits cannot save more than their part of that."
        )
        lines = each(cells, lambda cell: f"weights / step {shares[cell.cell]:.0%}")
        yield Finding("observed", "little_to_save", text, lines, "a larger model, or this one on a smaller device")


def tensor_parallel(observed: Observed) -> Iterator[Finding]:
    """Name arms over several GPUs whose small steps are not explained by bytes: the GPUs also talk to each other."""
    spread = {name: arm for name, arm in observed.arms.items() if _gpus(arm) > 1}
    steps = [step for step in _low_steps(observed) if step.cell.arm in spread and step.left_share > MUCH_LEFT]
    if steps:
        cells = [step.cell for step in steps]
        text = (
            f"Each replica spreads a step over several GPUs in {places(cells)}: two sums over all of them a layer "
            f"take a time that weights' bits do not change, and each GPU reads only its part of the weights. Both "
            f"shrink what fewer bits can gain."
        )
        lines = each(cells, lambda cell: f"tensor_parallel_size {_gpus(spread[cell.arm])}")
        settled = "the narrow arm on fewer GPUs, or the communication time in the engine's profile"
        yield Finding("interpretation", "tensor_parallel", text, lines, settled)


def gain_by_bytes(observed: Observed) -> Iterator[Finding]:
    """Set what narrower arms gain over the widest against what their fewer bytes explain, from low to high load."""
    pairs = [found for wide, narrow in _against_widest(observed) if (found := _shared(observed, wide, narrow))]
    if pairs:
        low, high = [found[0] for found in pairs], [found[-1] for found in pairs if len(found) > 1]
        lines = tuple(_pair_words(*pair) for pair in (*low, *high))
        yield Finding("interpretation", "gain_by_bytes", _saved_text(low) + _gain_text(low, high), lines, _PROFILER)


def _saved_text(low: Sequence[tuple[_Step, _Step]]) -> str:
    def words(wide: _Step, narrow: _Step) -> str:
        saved, by_bytes = wide.ms - narrow.ms, _reads(wide) - _reads(narrow)
        longer = "shorter" if saved > 0 else "longer"
        return f"one of {narrow.cell.arm} is {number(abs(saved))} ms {longer} ({number(by_bytes)} by fewer bytes alone)"

    wide = low[0][0]
    told = listed(words(*pair) for pair in low)
    return f"Against a step of {wide.cell.arm} at {load_of(wide.cell)}, {number(wide.ms)} ms, {told}."


def _gain_text(low: Sequence[tuple[_Step, _Step]], high: Sequence[tuple[_Step, _Step]]) -> str:
    if not high:
        return ""
    first, last = low[0][0], high[0][0]
    before = {narrow.cell.arm: wide.ms / narrow.ms for wide, narrow in low}
    gains = listed(f"{n.cell.arm} from {before[n.cell.arm]:.2f} to {w.ms / n.ms:.2f} times" for w, n in high)
    return (
        f" From there to {load_of(last.cell)} the gain of {gains} goes with the weights' part of a step of "
        f"{last.cell.arm}, {first.split.weights / first.ms:.0%} and then {last.split.weights / last.ms:.0%}: what bits "
        f"of weights can save shrinks, and arithmetic, KV reads and neighbours' prefill take its place."
    )


def _pair_words(wide: _Step, narrow: _Step) -> str:
    def words(step: _Step) -> str:
        return (
            f"{step.cell.arm} {number(step.ms)} ms = max(weights {number(step.split.weights)} + KV "
            f"{number(step.split.kv_cache)}, arithmetic {number(step.split.arithmetic)}) + left over "
            f"{number(step.split.left_over)}"
        )

    return f"{load_of(wide.cell)}: {words(wide)}; {words(narrow)}"


def _reads(step: _Step) -> float:
    return step.split.weights + step.split.kv_cache


def _step(cell: CellSummary) -> _Step | None:
    """Return a cell's step of decoding; None where prefill sets the pace, so that TPOT is no such step's length."""
    roof = cell.roofline
    if roof is None or roof.split_ms is None or prefill_words(cell):
        return None
    return _Step(cell, roof.step_ms, roof.split_ms)


def _low_steps(observed: Observed) -> list[_Step]:
    """Return each arm's step at its lowest load, if few requests are in it."""
    lowest = [cells[0] for arm in observed.arms if (cells := of_arm(observed, arm))]
    steps = [step for cell in lowest if (step := _step(cell)) is not None]
    return [step for step in steps if step.cell.roofline is not None and step.cell.roofline.batch <= FEW]


def _left_words(step: _Step) -> str:
    return f"left over {number(step.split.left_over)} of {number(step.ms)} ms = {step.left_share:.0%}"


def _beside_wide(observed: Observed, steps: Sequence[_Step], long: Sequence[_Step]) -> str:
    """Compare with the 16-bit arm, which unpacks nothing."""
    wide = [step for step in steps if _is_wide(observed, step.cell)]
    narrow = [step for step in long if not _is_wide(observed, step.cell)]
    if not wide or not narrow:
        return ""
    least, most = min(step.split.left_over for step in wide), max(step.split.left_over for step in narrow)
    return (
        f" {wide[0].cell.arm}, which unpacks nothing, leaves {number(least)} ms over itself, so that at most "
        f"{number(max(0.0, most - least))} of {number(most)} ms could be the price of a format."
    )


def _is_wide(observed: Observed, cell: CellSummary) -> bool:
    arm = observed.arms.get(cell.arm)
    return arm is not None and bits(arm.weight_format) == 16


def _against_widest(observed: Observed) -> list[tuple[str, str]]:
    """Pair the arm of the widest weights with each narrower one; nothing if two are widest."""
    widths = {name: width for name, arm in observed.arms.items() if (width := bits(arm.weight_format)) is not None}
    most = max(widths.values(), default=0)
    wide = [name for name, width in widths.items() if width == most]
    return [(wide[0], name) for name, width in widths.items() if width < most] if len(wide) == 1 else []


def _shared(observed: Observed, wide: str, narrow: str) -> list[tuple[_Step, _Step]]:
    """Return both arms' steps at each load that both have, the lowest first; of repeats the first."""
    first: dict[str, dict[str, _Step]] = {wide: {}, narrow: {}}
    for arm, steps in first.items():
        for cell in of_arm(observed, arm):
            step = _step(cell)
            if step is not None:
                steps.setdefault(load_of(cell), step)
    return [(step, first[narrow][load]) for load, step in first[wide].items() if load in first[narrow]]


def _gpus(arm: ArmSummary) -> int:
    value = arm.facts.get("tensor_parallel_size")
    return value if isinstance(value, int) and not isinstance(value, bool) else 1
