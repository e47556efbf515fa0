"""How often the interval of a mean divergence holds the truth, where tokens of a text hang together.

python benchmarks/quality_coverage.py        (two minutes)
"""

import math
from collections.abc import Iterator

import numpy as np

from whichbits.analyze.quality.intervals import ratio_interval

_RUNS = 1500
_TOKENS = 200
_LEVEL = 0.02
"""Mean divergence in nats."""
_SHIPPED = (10, 8, 8, 8, 3)
"""Texts by domain."""


def main() -> None:
    """Print a line for each shape of a set of texts, and each spread between its texts."""
    print("texts by domain        spread between texts   covered   tokens taken as independent")
    for domains in ((4,), (8,), (20,), (8, 8), _SHIPPED):
        for spread in (0.1, 0.4, 0.8):
            held, naive = (sum(column) / _RUNS for column in zip(*_trials(domains, spread), strict=True))
            print(f"{domains!s:22} {spread:20} {held:9.1%} {naive:9.1%}")


def _trials(domains: tuple[int, ...], spread: float) -> Iterator[tuple[bool, bool]]:
    """Yield whether the interval held, and whether one of independent tokens did.

    A token's divergence is skewed (log-normal) around its text's level, which is log-normal around its domain's.
    """
    random = np.random.default_rng(1)
    strata = [str(domain) for domain, texts in enumerate(domains) for _ in range(texts)]
    centres = np.array([1 + 0.5 * int(stratum) for stratum in strata]) * _LEVEL
    for _ in range(_RUNS):
        levels = centres * np.exp(spread * random.standard_normal(centres.size) - spread**2 / 2)
        counts = random.integers(_TOKENS // 2, 2 * _TOKENS, centres.size)
        tokens = [level * np.exp(random.standard_normal(n) - 0.5) for level, n in zip(levels, counts, strict=True)]
        sums = [float(each.sum()) for each in tokens]
        truth = float((centres * counts).sum() / counts.sum())
        found = ratio_interval(sums, counts.tolist(), strata)
        every = np.concatenate(tokens)
        half = 1.96 * float(every.std()) / math.sqrt(every.size)
        held = found.low is not None and found.high is not None and found.low <= truth <= found.high
        yield held, abs(float(every.mean()) - truth) <= half


if __name__ == "__main__":
    main()
