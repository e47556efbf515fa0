"""Resampling the requests of a cell: how often each request is drawn, and what a metric becomes of it.

One draw serves every arm that met the same requests, so that a pair of arms is compared on the same ones. Requests
are drawn in blocks of neighbours in send order, since those that ran together were slowed together (circular
moving-block bootstrap: Politis & Romano 1992).
"""

import numpy as np
import numpy.typing as npt

from whichbits.analyze.statistics.quantiles import quantiles
from whichbits.record.timelines import Floats, Ints

RESAMPLES = 200
"""Enough for a standard error within 5 %, which is all that is taken from them."""

Weights = npt.NDArray[np.int32]
"""How often each resample (row) draws each request (column)."""

_ITL_BINS = 48

_PRODUCTS_OF_ONE_THREAD = 2**18
"""So many multiplications OpenBLAS does on one thread: waking others costs more, on a busy machine a hundred times."""


def block_length(requests: int) -> int:
    """Return how many neighbours are drawn together: 2 n^(1/3), the rate at which the bias of the variance falls."""
    return int(np.clip(round(2 * requests ** (1 / 3)), 1, max(1, requests // 3)))


def draw(requests: int, seed: int, resamples: int = RESAMPLES) -> Weights:
    """Return weights, shape (resamples, requests), of blocks that start anywhere and wrap around the end."""
    length = block_length(requests)
    blocks = -(-requests // length)
    starts = np.random.default_rng(seed).integers(0, requests, (resamples, blocks))
    cells = starts + np.arange(resamples)[:, None] * requests
    begun = np.bincount(cells.ravel(), minlength=resamples * requests).reshape(resamples, requests).astype(np.int32)
    # A request is drawn by every block that began up to length - 1 places before it.
    total = np.cumsum(np.concatenate([begun[:, requests - length :], begun], axis=1), axis=1, dtype=np.int32)
    drawn: Weights = total[:, length:] - total[:, :-length]
    return drawn


def widened(logs: Floats, requests: int) -> Floats:
    """Return resampled values, a row a metric, spread out around their mean by what few blocks hide.

    As with a sample variance over n instead of n - 1, blocks that are a share of the cell hide that share of the
    variance; and whole blocks draw somewhat more requests than there are.
    """
    share = block_length(requests) / requests
    hidden = np.ceil(1 / share) * share / (1 - share)
    known = ~np.isnan(logs)
    counts = known.sum(axis=-1, keepdims=True)
    centre = np.where(known, logs, 0.0).sum(axis=-1, keepdims=True) / np.where(counts > 0, counts, np.nan)
    spread: Floats = centre + (logs - centre) * np.sqrt(hidden)
    return spread


def percentiles(values: Floats, weights: Weights, percents: tuple[float, ...]) -> Floats:
    """Return each resample's percentiles, shape (percents, resamples), linear between order statistics.

    NaN values are left out; a resample that draws none of the others is NaN.
    """
    known = np.flatnonzero(~np.isnan(values))
    if not known.size:
        return np.full((len(percents), len(weights)), np.nan)
    order = known[np.argsort(values[known])]
    # One sum through all resamples: it rises throughout, so that one search finds a place in each.
    upto = np.cumsum(weights[:, order].ravel(), dtype=np.int64)
    return np.array([_percentile(values[order], upto, len(weights), percent) for percent in percents])


def _percentile(ordered: Floats, upto: Ints, resamples: int, percent: float) -> Floats:
    """Return a percentile of each resample; ``upto`` counts draws through all of them, resample after resample."""
    ends = upto[ordered.size - 1 :: ordered.size]
    before = np.concatenate([[0], ends[:-1]])
    drawn, row = ends - before, np.arange(resamples) * ordered.size
    place = np.maximum(drawn - 1, 0) * percent / 100
    below = np.floor(place).astype(np.int64)
    low, high = (
        ordered[np.minimum(np.searchsorted(upto, before + statistic, side="right") - row, ordered.size - 1)]
        for statistic in (below, below + 1)
    )
    return np.where(drawn > 0, low + (place - below) * (high - low), np.nan)


def means(values: Floats, weights: Weights) -> Floats:
    """Return each resample's mean over the values that exist."""
    known = ~np.isnan(values)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean: Floats = (weights[:, known] @ values[known]) / weights[:, known].sum(axis=1)
    return mean


def pooled_percentiles(values: Floats, owners: Ints, weights: Weights, percents: tuple[float, ...]) -> Floats:
    """Return each resample's percentiles of values of which a request has many, shape (percents, resamples).

    ``owners`` names the request of each value, a column of ``weights``: whole requests are drawn. To be quick, values
    are counted in bins that lie close together around the percentiles, and a percentile is linear within its bin.
    """
    if not values.size:
        return np.full((len(percents), len(weights)), np.nan)
    order = np.argsort(values)
    ordered = values[order]
    edges = np.unique(quantiles(ordered, _bin_shares(percents)))
    if edges.size == 1:
        return np.full((len(percents), len(weights)), edges[0])
    # A value on an edge belongs to the bin below, the lowest to the first.
    begins = np.concatenate([[0], np.searchsorted(ordered, edges[1:-1], side="right"), [ordered.size]])
    bins = np.repeat(np.arange(edges.size - 1), np.diff(begins))
    counts = np.bincount(owners[order] * (edges.size - 1) + bins, minlength=weights.shape[1] * (edges.size - 1))
    drawn = _drawn(weights, counts.reshape(-1, edges.size - 1))
    upto = np.concatenate([np.zeros((len(weights), 1)), np.cumsum(drawn, axis=1)], axis=1)
    return np.array([_binned_percentile(edges, upto, percent) for percent in percents])


def _drawn(weights: Weights, counts: Ints) -> Floats:
    """Return how many values of each bin each resample draws; sums of whole numbers, exact in any order."""
    rows = _PRODUCTS_OF_ONE_THREAD // max(1, counts.size)
    if not 1 <= rows < len(weights):
        return weights.astype(np.float64) @ counts
    exact = counts.astype(np.float64)
    return np.concatenate([weights[at : at + rows] @ exact for at in range(0, len(weights), rows)])


def _binned_percentile(edges: Floats, upto: Floats, percent: float) -> Floats:
    wanted = upto[:, -1] * percent / 100
    found = np.clip((upto < wanted[:, None]).sum(axis=1), 1, edges.size - 1)
    row = np.arange(len(upto))
    before, after = upto[row, found - 1], upto[row, found]
    share = np.clip((wanted - before) / np.maximum(after - before, 1), 0, 1)
    values: Floats = edges[found - 1] + share * (edges[found] - edges[found - 1])
    return np.where(upto[:, -1] > 0, values, np.nan)


def _bin_shares(percents: tuple[float, ...]) -> Floats:
    """Return shares of the sample, from 0 to 1, denser towards each percentile."""
    steps = np.linspace(0, 1, _ITL_BINS) ** 2
    return np.unique([[c * (1 - steps), c + (1 - c) * steps] for c in (percent / 100 for percent in percents)])
