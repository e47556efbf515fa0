"""Prompt and answer lengths: stratified, so that every cell carries the same mix whatever its size.

Independent draws would give a cell of 16 requests another mean length than one of 512, and the sweep would show the
luck of the draw as an effect of load. Taking one length from each of n equal shares of the distribution removes
that, and keeps the mean at what the study asks.
"""

import numpy as np

from whichbits.traffic.draws import Draws, Floats, Integers, normal_quantiles


def log_normal_lengths(draws: Draws, count: int, mean: int, sigma: float, longest: int) -> Integers:
    """Return ``count`` lengths in tokens, 1 to ``longest``, of a clipped log-normal whose mean is ``mean``."""
    shape = np.exp(sigma * normal_quantiles(count))
    lengths = np.maximum(1, np.rint(np.minimum(shape * _scale(shape, mean, longest), longest)))
    return lengths.astype(np.int64)[draws.order(count)]


def uniform_lengths(draws: Draws, count: int, middle: int, ratio: float) -> Integers:
    """Return ``count`` lengths spread evenly over ``middle`` x (1 - ratio) to ``middle`` x (1 + ratio)."""
    shares = (np.arange(count) + 0.5) / count
    lengths = np.maximum(1, np.rint(middle * (1 - ratio + 2 * ratio * shares)))
    return lengths.astype(np.int64)[draws.order(count)]


def _scale(shape: Floats, mean: float, longest: int) -> float:
    """Return the factor that brings the clipped shape's mean to ``mean``; the mean grows with it, so bisect."""
    low, high = 0.0, longest / float(shape.min())
    for _ in range(60):
        middle = (low + high) / 2
        if np.minimum(shape * middle, longest).mean() < mean:
            low = middle
        else:
            high = middle
    return high
