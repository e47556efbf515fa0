"""What a decode step's bytes explain of its time, and of the difference between two arms."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from whichbits.analyze.findings.observed import Observed, bits, each, load_of, number, of_arm, places
from whichbits.analyze.findings.phases import prefill_words
from whichbits.analyze.limits.roofline import StepSplit
from whichbits.analyze.summary import ArmSummary, CellSummary, Finding
from whichbits.language.phrase import listed, phrase

FEW = 4.0
"""Requests in a step up to which it is read-bound on every device of the table."""
MUCH_LEFT = 0.35
LITTLE = 0.3
_PROFILER = phrase(
    "the engine's profiler over some steps: time in GEMM, attention, other kernels, and gaps between kernels"
)


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
        text = phrase(
            "A large part of a step is not explained by what it reads in {places}: launches, the host's "
            "scheduling, unpacking of weights, and bandwidth that kernels do not reach. Fewer bits do not "
            "shorten this part.{beside_wide}",
            places=places([step.cell for step in long]),
            beside_wide=_beside_wide(observed, steps, long),
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
        text = phrase(
            "The model is small for this device: in {places} reading all weights is at most {values:.0%} of "
            "a step, in 16 bits. Fewer bits cannot save more than their part of that.",
            places=places(cells),
            values=max(shares.values()),
        )
        lines = each(cells, lambda cell: phrase("weights / step {shares:.0%}", shares=shares[cell.cell]))
        yield Finding(
            "observed", "little_to_save", text, lines, phrase("a larger model, or this one on a smaller device")
        )


def tensor_parallel(observed: Observed) -> Iterator[Finding]:
    """Name arms over several GPUs whose small steps are not explained by bytes: the GPUs also talk to each other."""
    spread = {name: arm for name, arm in observed.arms.items() if _gpus(arm) > 1}
    steps = [step for step in _low_steps(observed) if step.cell.arm in spread and step.left_share > MUCH_LEFT]
    if steps:
        cells = [step.cell for step in steps]
        text = phrase(
            "Each replica spreads a step over several GPUs in {places}: two sums over all of them a layer "
            "take a time that weights' bits do not change, and each GPU reads only its part of the weights. "
            "Both shrink what fewer bits can gain.",
            places=places(cells),
        )
        lines = each(cells, lambda cell: phrase("tensor_parallel_size {gpus}", gpus=_gpus(spread[cell.arm])))
        settled = phrase("the narrow arm on fewer GPUs, or the communication time in the engine's profile")
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
        longer = phrase("shorter") if saved > 0 else phrase("longer")
        return phrase(
            "one of {arm} is {saved} ms {longer} ({by_bytes} by fewer bytes alone)",
            arm=narrow.cell.arm,
            saved=number(abs(saved)),
            longer=longer,
            by_bytes=number(by_bytes),
        )

    wide = low[0][0]
    told = listed(words(*pair) for pair in low)
    return phrase(
        "Against a step of {arm} at {load_of}, {ms} ms, {told}.",
        arm=wide.cell.arm,
        load_of=load_of(wide.cell),
        ms=number(wide.ms),
        told=told,
    )


def _gain_text(low: Sequence[tuple[_Step, _Step]], high: Sequence[tuple[_Step, _Step]]) -> str:
    if not high:
        return ""
    first, last = low[0][0], high[0][0]
    before = {narrow.cell.arm: wide.ms / narrow.ms for wide, narrow in low}
    gains = listed(
        phrase("{arm} from {before:.2f} to {ms:.2f} times", arm=n.cell.arm, before=before[n.cell.arm], ms=w.ms / n.ms)
        for w, n in high
    )
    return phrase(
        " From there to {load_of} the gain of {gains} goes with the weights' part of a step of {arm}, "
        "{weights:.0%} and then {weights_2:.0%}: what bits of weights can save shrinks, and arithmetic, "
        "KV reads and neighbours' prefill take its place.",
        load_of=load_of(last.cell),
        gains=gains,
        arm=last.cell.arm,
        weights=first.split.weights / first.ms,
        weights_2=last.split.weights / last.ms,
    )


def _pair_words(wide: _Step, narrow: _Step) -> str:
    def words(step: _Step) -> str:
        return phrase(
            "{arm} {ms} ms = max(weights {weights} + KV {kv_cache}, arithmetic {arithmetic}) + left over {left_over}",
            arm=step.cell.arm,
            ms=number(step.ms),
            weights=number(step.split.weights),
            kv_cache=number(step.split.kv_cache),
            arithmetic=number(step.split.arithmetic),
            left_over=number(step.split.left_over),
        )

    return phrase("{load_of}: {words}; {words_2}", load_of=load_of(wide.cell), words=words(wide), words_2=words(narrow))


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
    return phrase(
        "left over {left_over} of {ms} ms = {left_share:.0%}",
        left_over=number(step.split.left_over),
        ms=number(step.ms),
        left_share=step.left_share,
    )


def _beside_wide(observed: Observed, steps: Sequence[_Step], long: Sequence[_Step]) -> str:
    """Compare with the 16-bit arm, which unpacks nothing."""
    wide = [step for step in steps if _is_wide(observed, step.cell)]
    narrow = [step for step in long if not _is_wide(observed, step.cell)]
    if not wide or not narrow:
        return ""
    least, most = min(step.split.left_over for step in wide), max(step.split.left_over for step in narrow)
    return phrase(
        " {arm}, which unpacks nothing, leaves {least} ms over itself, so that at most {value} of {most} "
        "ms could be the price of a format.",
        arm=wide[0].cell.arm,
        least=number(least),
        value=number(max(0.0, most - least)),
        most=number(most),
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
