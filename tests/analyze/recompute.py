"""Every number of a cell, worked out again from requests.parquet in plain Python: slow, and written apart.

``check_summary(folder)`` holds the folder's summary.json against it.
"""

import json
import math
from collections import Counter
from itertools import pairwise
from pathlib import Path
from statistics import fmean, median
from typing import Any

import pyarrow.parquet as pq
import pytest

Row = dict[str, Any]


def check_summary(folder: Path) -> int:
    """Assert that summary.json agrees with requests.parquet; return how many numbers were compared."""
    rows = pq.read_table(folder / "requests.parquet").to_pylist()
    slo = json.loads((folder / "run.json").read_text())["study"].get("slo")
    held = 0
    for cell in json.loads((folder / "summary.json").read_text())["cells"]:
        mine = [row for row in rows if row["cell"] == cell["cell"]]
        for name, expected in recompute(mine, slo).items():
            assert cell[name] == approximately(expected), (cell["cell"], name)
            held += 1
    return held


def approximately(expected: Any) -> Any:
    if isinstance(expected, dict):
        return {name: approximately(value) for name, value in expected.items()}
    return pytest.approx(expected, rel=1e-9, abs=1e-12) if isinstance(expected, float) else expected


def recompute(rows: list[Row], slo: dict[str, float | None] | None) -> dict[str, Any]:
    good = [row for row in rows if row["error_code"] is None]
    answered = [row for row in good if row["chunk_ns"]]
    tpot = [value for row in good if (value := tpot_ms(row)) is not None]
    sent = [row["sent_ns"] for row in rows if row["sent_ns"] is not None]
    finished = [row["finished_ns"] for row in rows if row["finished_ns"] is not None]
    seconds = (max(finished) - min(sent)) / 1e9 if sent and finished else None
    prompt = total(good, "prompt_tokens")
    output = total(good, "output_tokens") or 0
    numbers = {
        "requests": len(rows),
        "failed": len(rows) - len(good),
        "errors": dict(Counter(row["error_code"] for row in rows if row["error_code"] is not None)),
        "ttft_ms": distribution([(row["chunk_ns"][0] - row["scheduled_ns"]) / 1e6 for row in answered]),
        "ttft_from_send_ms": distribution([(row["chunk_ns"][0] - row["sent_ns"]) / 1e6 for row in answered]),
        "tpot_ms": distribution(tpot),
        "itl_ms": distribution([(b - a) / 1e6 for row in good for a, b in pairwise(row["chunk_ns"])]),
        "e2e_ms": distribution([(row["chunk_ns"][-1] - row["scheduled_ns"]) / 1e6 for row in answered]),
        "excluded_from_tpot": len(good) - len(tpot),
        "prompt_tokens": prompt,
        "cached_tokens": total(good, "cached_tokens"),
        "output_tokens": output,
        "duration_s": seconds,
        "output_tokens_per_s": rate(output, seconds) if told(good, "output_tokens") else None,
        "total_tokens_per_s": (
            rate((prompt or 0) + output, seconds) if told(good, "output_tokens", "prompt_tokens") else None
        ),
        "requests_per_s": rate(len(good), seconds),
        "steady_output_tokens_per_s": steady(rows, good),
        "mean_batch": (
            output / seconds * median(tpot) / 1e3 if seconds and tpot and told(good, "output_tokens") else None
        ),
        "peak_concurrency": max((in_flight(rows, time) for time in sent), default=None),
    }
    telling = [row for row in good if row["cached_tokens"] is not None and row["prompt_tokens"] is not None]
    if telling:
        cached, asked = (total(telling, name) or 0 for name in ("cached_tokens", "prompt_tokens"))
        numbers["prefix_hit_rate"] = cached / asked
    if slo and rows:
        kept = sum(holds(row, slo) for row in good)
        numbers |= {"goodput_requests_per_s": rate(kept, seconds), "slo_share": kept / len(rows)}
    return numbers


def total(rows: list[Row], name: str) -> int | None:
    known = [row[name] for row in rows if row[name] is not None]
    return sum(known) if known else None


def told(rows: list[Row], *names: str) -> bool:
    return all(row[name] is not None for row in rows for name in names)


def rate(amount: int | None, seconds: float | None) -> float | None:
    return amount / seconds if amount is not None and seconds else None


def tpot_ms(row: Row) -> float | None:
    if (row["output_tokens"] or 0) < 2 or len(set(row["chunk_ns"])) < 2:
        return None
    return float((row["chunk_ns"][-1] - row["chunk_ns"][0]) / (row["output_tokens"] - 1) / 1e6)


def distribution(values: list[float]) -> dict[str, Any]:
    percents = (50, 90, 99)
    thin = [f"p{percent}" for percent in percents if len(values) * (100 - percent) / 100 < 10]
    numbers = {f"p{percent}": percentile(sorted(values), percent) for percent in percents}
    return {"n": len(values), "mean": fmean(values) if values else None, "thin": thin} | numbers


def percentile(ordered: list[float], percent: int) -> float | None:
    if not ordered:
        return None
    position = (len(ordered) - 1) * percent / 100
    low, high = math.floor(position), math.ceil(position)
    return ordered[low] * (1 - (position - low)) + ordered[high] * (position - low)


def in_flight(rows: list[Row], time: float) -> int:
    whole = [row for row in rows if row["sent_ns"] is not None and row["finished_ns"] is not None]
    return sum(row["sent_ns"] <= time < row["finished_ns"] for row in whole)


def steady(rows: list[Row], good: list[Row]) -> float | None:
    """Tokens from the moment the median level is reached until the last send, over that time."""
    flown = [row for row in rows if row["sent_ns"] is not None and row["finished_ns"] is not None]
    if not flown:
        return None
    last_send = max(row["sent_ns"] for row in rows if row["sent_ns"] is not None)
    moments = sorted({time for row in flown for time in (row["sent_ns"], row["finished_ns"])} | {last_send})
    levels = {time: in_flight(flown, time) for time in moments}
    held: Counter[int] = Counter()
    for start, end in pairwise(moments):
        if end <= last_send:
            held[levels[start]] += end - start
    level = (
        max(levels.values())
        if not held
        else max(
            height
            for height in held
            if 2 * sum(time for other, time in held.items() if other >= height) >= sum(held.values())
        )
    )
    start = next(time for time in moments if levels[time] >= level)
    if last_send - start < median(row["finished_ns"] - row["sent_ns"] for row in flown):
        return None
    tokens = sum(
        tokens
        for row in good
        for time, tokens in zip(row["chunk_ns"], row["chunk_tokens"], strict=True)
        if start < time <= last_send
    )
    return rate(tokens, (last_send - start) / 1e9)


def holds(row: Row, slo: dict[str, float | None]) -> bool:
    pace = tpot_ms(row)
    first = (row["chunk_ns"][0] - row["scheduled_ns"]) / 1e6 if row["chunk_ns"] else math.inf
    last = (row["chunk_ns"][-1] - row["scheduled_ns"]) / 1e6 if row["chunk_ns"] else math.inf
    seen = {"ttft_ms": first, "tpot_ms": 0.0 if pace is None else pace, "e2e_ms": last}
    return all(bound is None or seen[name] <= bound for name, bound in slo.items())
