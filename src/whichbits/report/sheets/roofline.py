"""Where decode steps stand under their device's roofline, in both ways of counting bytes."""

from collections.abc import Callable, Iterator

from whichbits.analyze.limits.roofline import Accounting, Roofline, StepSplit
from whichbits.analyze.summary import CellSummary, Summary
from whichbits.language.phrase import joined, phrase
from whichbits.record.schema import Manifest
from whichbits.report.cells.pooled import Pooled, Reading, by_arm
from whichbits.report.sheets.sheet import Sheet, bars
from whichbits.report.wording import MISSING, number, share_text

_CAUSES = (phrase("weights"), phrase("KV cache"), phrase("left over"))


def rooflines(summary: Summary, _: Manifest) -> Sheet | None:
    """Return a row an arm and load; None if no step can be held against a device."""
    rows = tuple(_row(each) for each in known(summary))
    if not rows:
        return None
    shares = (phrase("bandwidth"), phrase("arithmetic"), phrase("FLOP/byte"))
    return Sheet(
        name="roofline",
        title=phrase("Roofline"),
        meaning=phrase(
            "{devices}. Shares are of dense peaks. By weights loaded: the bytes that the log says were "
            "loaded, as many people count. By bytes read: without the input embedding, with the KV cache.",
            devices=_devices(summary),
        ),
        headings=(
            phrase("arm"),
            phrase("load"),
            phrase("operands"),
            phrase("step ms"),
            phrase("batch"),
            *(phrase("loaded: {name}", name=name) for name in shares),
            *(phrase("read: {name}", name=name) for name in shares),
        ),
        rows=rows,
        words=3,
    )


def step_split(summary: Summary, _: Manifest) -> Sheet | None:
    """Return how long a step's reads and arithmetic would take at peak; None if no step is known."""
    split = [(each, _parts(each)) for each in known(summary) if each.median(_of_split(lambda s: s.weights)) is not None]
    if not split:
        return None
    return Sheet(
        name="step-split",
        title=phrase("Where a decode step's time goes"),
        meaning=phrase(
            "Ms at peak bandwidth and peak arithmetic. Arithmetic can hide behind reads. What is left over "
            "is launches, scheduling, dequantisation, prefill of neighbours, and peaks that kernels do not "
            "reach."
        ),
        headings=(
            phrase("arm"),
            phrase("load"),
            phrase("step ms"),
            phrase("weights ms"),
            phrase("KV cache ms"),
            phrase("arithmetic ms"),
            phrase("left over ms"),
        ),
        rows=tuple(
            (each.arm, each.load_text, *(number(value) for value in (_step(each), *parts[:2], parts[3], parts[2])))
            for each, parts in split
        ),
        words=2,
        parts=_CAUSES,
        bars=bars(tuple(parts[:3] for _, parts in split)),
    )


def known(summary: Summary) -> tuple[Pooled, ...]:
    """Return the arms and loads that have a roofline."""
    return tuple(each for each in by_arm(summary) if any(cell.roofline for cell in each.counted))


def accounted(convention: str, value: Callable[[Accounting], float]) -> Reading:
    """Return a reading of one way of counting, ``loaded`` or ``read``."""

    def read(cell: CellSummary) -> float | None:
        account: Accounting | None = getattr(cell.roofline, convention, None)
        return None if account is None else value(account)

    return read


def _row(each: Pooled) -> tuple[str, ...]:
    return (each.arm, each.load_text, _operands(each), number(_step(each)), number(each.median(_batch)), *_shares(each))


def _shares(each: Pooled) -> Iterator[str]:
    for convention in ("loaded", "read"):
        yield share_text(each.median(accounted(convention, lambda account: account.attained_bandwidth)))
        yield share_text(each.median(accounted(convention, lambda account: account.compute_utilization)))
        yield number(each.median(accounted(convention, lambda account: account.intensity)))


def _operands(each: Pooled) -> str:
    return next((cell.roofline.number_type for cell in each.counted if cell.roofline), MISSING)


def _step(each: Pooled) -> float | None:
    return each.median(lambda cell: cell.roofline.step_ms if cell.roofline else None)


def _batch(cell: CellSummary) -> float | None:
    return cell.roofline.batch if cell.roofline else None


def _parts(each: Pooled) -> tuple[float | None, ...]:
    readings: tuple[Callable[[StepSplit], float], ...] = (
        lambda split: split.weights,
        lambda split: split.kv_cache,
        lambda split: split.left_over,
        lambda split: split.arithmetic,
    )
    return tuple(each.median(_of_split(reading)) for reading in readings)


def _of_split(value: Callable[[StepSplit], float]) -> Reading:
    def read(cell: CellSummary) -> float | None:
        split = cell.roofline.split_ms if cell.roofline else None
        return None if split is None else value(split)

    return read


def _devices(summary: Summary) -> str:
    found: dict[str, dict[str, None]] = {}
    for cell in summary.cells:
        if cell.roofline:
            device = phrase(
                "{device}, {bandwidth_gb_s} GB/s",
                device=cell.roofline.device,
                bandwidth_gb_s=number(cell.roofline.bandwidth_gb_s),
            )
            found.setdefault(device, {})[_peak(cell.roofline)] = None
    return joined(
        "; ",
        (
            phrase("{device}: {list}", device=device, list=joined(", ", sorted(peaks)))
            for device, peaks in found.items()
        ),
    )


def _peak(roofline: Roofline) -> str:
    return phrase(
        "{number_type} {peak_tflops} TFLOP/s (ridge {ridge})",
        number_type=roofline.number_type,
        peak_tflops=number(roofline.peak_tflops),
        ridge=number(roofline.ridge),
    )
