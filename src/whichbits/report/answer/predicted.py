"""What a reader must know of a prediction before any number: a model's, by which constants, and how far off it was."""

from collections.abc import Iterator

from whichbits.analyze.summary import CellSummary, Summary
from whichbits.language.phrase import Phrase, joined, phrase
from whichbits.predict.accuracy import Accuracy, accuracy_on
from whichbits.report.cells.measures import MEASURES
from whichbits.report.cells.pooled import Pooled, pooled
from whichbits.report.wording import MISSING, number

_FITTED = "calibrat"
_OWN = "calibrated"
_SHIPPED = "calibration "
_SHOWN = ("ttft_ms.p50", "tpot_ms.p50", "output_tokens_per_s")
TITLE = phrase("How far it may be off")
UNITS = phrase("95 % intervals by the spreads of the constants; ms, tokens/s")
HEADINGS = (phrase("load"), phrase("arm"), phrase("Median TTFT"), phrase("Median TPOT"), phrase("Output throughput"))
"""Headings of ``interval_rows``."""


def is_predicted(summary: Summary) -> bool:
    """Return whether the numbers are a model's."""
    return summary.source == "predicted"


def banner(summary: Summary) -> str:
    """Return what stands above everything else: on what GPU and engine it was played, by which constants."""
    return phrase(
        "Predicted, not measured: no request was sent. Played on {gpu} with {engine}; {calibration}.",
        gpu=joined(", ", _facts(summary, "device_name")) or MISSING,
        engine=joined(", ", _engines(summary)) or MISSING,
        calibration=_calibration(_constants(summary)),
    )


def cautions(summary: Summary) -> Iterator[str]:
    """Return why a prediction is less than a measurement, in short."""
    yield phrase("a model's numbers: no request was sent, no server answered")
    constants = _constants(summary)
    tables = (source for source in constants if not source.startswith(_FITTED))
    yield phrase("constants: {told}", told=joined(", ", (*tables, _calibration(constants))))
    yield from _how_far_off(summary, constants)
    yield phrase("TTFT near saturation is what it knows least: off by half and more where that was measured")


def interval_rows(summary: Summary) -> tuple[tuple[str, ...], ...]:
    """Return load, arm and 95 % intervals of median TTFT and TPOT in ms and of throughput; empty without draws."""
    known = [each for each in pooled(summary) if each.cells[0].intervals]
    return tuple((each.load_text, each.arm, *(_interval(each, path) for path in _SHOWN)) for each in known)


def _interval(each: Pooled, path: str) -> str:
    cell: CellSummary = each.cells[0]
    value, interval = MEASURES[path].read(cell), MEASURES[path].interval(cell)
    if value is None or interval is None:
        return MISSING
    low, high = map(number, interval)
    return phrase("{load} ({low} to {high})", load=number(value), low=low, high=high)


def _constants(summary: Summary) -> tuple[str, ...]:
    """Return where the arms' constants are from, each source once."""
    told = (source for line in _facts(summary, "rests_on") for source in line.partition("; ")[0].split(", "))
    return tuple(dict.fromkeys(told))


def _calibration(constants: tuple[str, ...]) -> str:
    fitted = [source for source in constants if source.startswith(_FITTED)]
    if not fitted:
        return phrase("no calibration for this GPU and engine")
    shipped = [source for source in fitted if source != _OWN]
    return joined(", ", shipped) if shipped else phrase("with a calibration of your own")


def _how_far_off(summary: Summary, constants: tuple[str, ...]) -> Iterator[Phrase]:
    for gpu in _facts(summary, "device_name"):
        known = accuracy_on(gpu, _shipped(constants))
        if known is None:
            yield phrase("how far off it is on {gpu} is not known: no run of one was at hand", gpu=gpu)
        else:
            yield phrase(
                "on {gpu}, runs up to {at_most} concurrent requests came out {tpot:.0%} off in TPOT and {ttft:.0%} "
                "in TTFT{by} (medians; docs/predict.md has every cell)",
                gpu=gpu,
                by=_by(known, constants),
                at_most=known.at_most,
                tpot=known.tpot,
                ttft=known.ttft,
            )


def _shipped(constants: tuple[str, ...]) -> str | None:
    """Return the shipped calibration's name; None where there is none, or one of the user's own."""
    return next((each.removeprefix(_SHIPPED) for each in constants if each.startswith(_SHIPPED)), None)


def _by(known: Accuracy, constants: tuple[str, ...]) -> Phrase:
    """Return by which constants those runs were predicted, where that does not go without saying."""
    if known.fitted:
        return phrase(" with this calibration, which was fitted to them")
    if known.calibration is not None:
        return phrase(" with this calibration, which was fitted to others")
    return phrase(" without a calibration") if any(each.startswith(_FITTED) for each in constants) else joined("", ())


def _facts(summary: Summary, name: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(str(arm.facts[name]) for arm in summary.arms.values() if arm.facts.get(name)))


def _engines(summary: Summary) -> tuple[str, ...]:
    said = (" ".join(filter(None, (arm.engine, arm.engine_version))) for arm in summary.arms.values())
    return tuple(dict.fromkeys(filter(None, said)))
