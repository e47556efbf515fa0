"""How long a step takes by the number of requests that decode in it, from the published times of chunks.

    python studies/h200/steps_by_batch.py studies/h200/results/qwen2.5-7b-chat/requests.parquet

A gap between two chunks of an answer counts for the number of answers under way at its start, and not at all if another
answer begins within it: then a prefill was in the step. Medians over all cells of an arm, in ms.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

BATCHES = [(1, 1), (2, 4), (5, 8), (9, 16), (17, 24), (25, 32), (33, 48), (49, 64), (65, 80)]
FEWEST = 1000
"""Gaps that a median needs here."""

Array = np.ndarray[Any, Any]


def decode_gaps(chunks: list[Array]) -> tuple[Array, Array]:
    """Return how many decode in each gap without a prefill, and how many microseconds it is long, of one cell."""
    first, last = np.sort([each[0] for each in chunks]), np.sort([each[-1] for each in chunks])
    starts = np.concatenate([each[:-1] for each in chunks])
    ends = np.concatenate([each[1:] for each in chunks])
    begun = np.searchsorted(first, starts, "right")
    alone = np.searchsorted(first, ends, "right") == begun
    return (begun - np.searchsorted(last, starts, "right"))[alone], (ends - starts)[alone]


def medians(requests: pa.Table, arm: str) -> list[float | None]:
    """Return the median gap of each of ``BATCHES`` in ms; None where too few are known."""
    batch, gap = (np.concatenate(each) for each in zip(*_cells(requests, arm), strict=True))
    chosen = [gap[(batch >= low) & (batch <= high)] for low, high in BATCHES]
    return [float(np.median(each)) / 1e3 if len(each) >= FEWEST else None for each in chosen]


def _cells(requests: pa.Table, arm: str) -> Iterator[tuple[Array, Array]]:
    of_arm = requests.filter(pc.equal(pc.cast(requests["arm"], pa.string()), arm))
    for cell in pc.unique(of_arm["cell"]):
        chunks = of_arm.filter(pc.equal(of_arm["cell"], cell))["chunk_us"]
        yield decode_gaps([np.asarray(each.as_py()) for each in chunks if each.as_py()])


def main(path: Path) -> None:
    """Print one row an arm."""
    requests = pq.read_table(path, columns=["arm", "cell", "chunk_us"])
    print("".join([f"{'decoding':12}", *(f"{low}-{high}".rjust(8) for low, high in BATCHES)]))
    for arm in pc.unique(pc.cast(requests["arm"], pa.string())).to_pylist():
        row = ["-" if each is None else f"{each:.2f}" for each in medians(requests, arm)]
        print("".join([f"{arm:12}", *(each.rjust(8) for each in row)]))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python studies/h200/steps_by_batch.py REQUESTS.parquet")
    main(Path(sys.argv[1]))
