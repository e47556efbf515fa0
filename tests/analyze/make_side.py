"""Sides of a comparison from result files and runs."""

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.record.importers.make_bench import bench_record
from tests.record.importers.make_results import written
from whichbits.analyze.comparison.comparison import PairComparison, Row, compare_pair
from whichbits.analyze.comparison.sides import Side
from whichbits.analyze.comparison.sources import read_source
from whichbits.analyze.summary import Metric


def side(folder: Path, content: object, name: str = "side") -> Side:
    (found,) = read_source(f"{name}={written(folder, f'{name}.json', content)}").sides
    return renamed(found, name)


def renamed(found: Side, name: str) -> Side:
    return replace(found, name=name)


def row(pair: PairComparison, metric: Metric) -> Row:
    (found,) = [each for each in pair.rows if each.metric == metric]
    return found


def of_files(folder: Path, baseline: object, candidate: object) -> PairComparison:
    return compare_pair((side(folder, baseline, "baseline"), side(folder, candidate, "candidate")))


def bench(tpot_s: Callable[[int], float], requests: int = 1200, **changed: Any) -> dict[str, Any]:
    """A detailed result whose request i has this TPOT, and 3 tokens."""
    each = [tpot_s(index) for index in range(requests)]
    lists: dict[str, list[Any]] = {
        "input_lens": [100 + index % 7 for index in range(requests)],
        "output_lens": [3] * requests,
        "ttfts": [0.05] * requests,
        "itls": [[tpot, tpot] for tpot in each],
        "latencies": [0.05 + 2 * tpot for tpot in each],
        "server_ttfts": [0.04] * requests,
        "start_times": [0.01 * index for index in range(requests)],
        "errors": [""] * requests,
    }
    totals = {"completed": requests, "num_prompts": requests, "failed": 0, "duration": 12.0}
    tokens = {"total_input_tokens": sum(lists["input_lens"]), "total_output_tokens": 3 * requests}
    return bench_record(**{**lists, **totals, **tokens, **changed})


def noisy(seed: int, mean_s: float = 0.01, spread: float = 0.3) -> Callable[[int], float]:
    """TPOTs of their own noise."""
    drawn = random.Random(seed)
    return lambda index: mean_s * drawn.lognormvariate(0, spread)
