"""Arms at one load that were not all met in the same repeats, as in a search: what repeats shift is taken out."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from whichbits.record.timelines import Floats

Met = Mapping[int, float]
"""ln(value) of one arm at one load, by repeat."""


def levels(arms: Sequence[Met]) -> Floats | None:
    """Return ln(value) of each arm over the repeats of all, shape (arms,); None where nothing compares some of them.

    Arms that were met in the same repeats: their means. Else least squares of arm + repeat: an arm that was met only
    in a slow repeat is held against what others did there.
    """
    repeats = sorted(set().union(*arms))
    if all(set(met) == set(repeats) for met in arms):
        return np.array([math.fsum(met.values()) / len(repeats) for met in arms]) if repeats else None
    places = [(arm, repeat) for arm, met in enumerate(arms) for repeat in met]
    design = np.zeros((len(places) + 1, len(arms) + len(repeats)))
    for row, (arm, repeat) in enumerate(places):
        design[row, [arm, len(arms) + repeats.index(repeat)]] = 1
    design[-1, len(arms) :] = 1  # repeats shift by nothing on average
    logs = [*(arms[arm][repeat] for arm, repeat in places), 0.0]
    found, _, rank, _ = np.linalg.lstsq(design, np.array(logs), rcond=None)
    return np.asarray(found[: len(arms)], dtype=np.float64) if rank == design.shape[1] else None
