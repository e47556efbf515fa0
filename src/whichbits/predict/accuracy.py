"""How far off predictions came out on runs of a GPU that were at hand: data that benchmarks make."""

from functools import cache
from importlib.resources import files

import msgspec


class Accuracy(msgspec.Struct, frozen=True):
    """Median errors of predicted TPOT and TTFT, as shares of what was measured, with the constants of one source."""

    gpu: str
    calibration: str | None
    """The shipped calibration's name; None for constants as released."""
    rows: str
    """Which cells, as the first column of the table in docs/predict.md names them."""
    fitted: bool
    """Whether the calibration was fitted to these very cells."""
    at_most: int
    """The highest concurrency of the cells."""
    tpot: float
    ttft: float


@cache
def accuracies() -> tuple[Accuracy, ...]:
    """Return all that is known; ``benchmarks/shipped_calibrations.py --write-errors`` makes it."""
    return msgspec.json.decode(
        files("whichbits.predict").joinpath("accuracy.json").read_bytes(), type=tuple[Accuracy, ...]
    )


def accuracy_on(gpu: str, calibration: str | None) -> Accuracy | None:
    """Return how far off predictions are on a GPU, with the constants as released where the calibration is not known.

    None if no run of the GPU was at hand.
    """
    known = {each.calibration: each for each in accuracies() if each.gpu == gpu}
    return known.get(calibration, known.get(None))
