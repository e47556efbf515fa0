"""Every number of a cell, worked out again from requests.parquet in plain Python: slow, and written apart.

``check_summary(folder)`` holds the folder's summary.json against it.
"""

import json
import math
from collections import Counter
from itertools import pairwise
from pathlib import Path
from statistics import fmean, median, pvariance
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
        expectations = recompute(mine, slo)
        if cell["request_rate"] is not None:
            # The rule for the steady window is worked out again for closed loops only.
            del expectations["steady_output_tokens_per_s"]
        for name, expected in expectations.items():
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
    """Tokens/s of a closed loop's steady window, by the rule of docs/metrics.md."""
    flown = [row for row in rows if row["sent_ns"] is not None and row["finished_ns"] is not None]
    took = [row["finished_ns"] - row["sent_ns"] for row in flown if row["error_code"] is None]
    if not took:
        return None
    start, end = level_window(rows, flown)
    if end - start < median(took):
        return None
    chunks = [pair for row in good for pair in zip(row["chunk_ns"], row["chunk_tokens"], strict=True)]
    batches = min(50, int((end - start) / median(took)))
    if batches >= 10:
        tokens = [within(chunks, *edges) for edges in pairwise(cut(start, end, batches))]
        start = cut(start, end, batches)[min(range(batches // 2 + 1), key=lambda d: standard_error(tokens[d:]))]
    batches = min(20, int((end - start) / median(took)))
    if batches >= 5:
        tokens = [within(chunks, *edges) for edges in pairwise(cut(start, end, batches))]
        half = batches // 2
        changed = sum(tokens[-half:]) / sum(tokens[:half]) - 1 if sum(tokens[:half]) else 0
        if abs(changed) > 0.1 and (only_rises(tokens) or only_rises([-each for each in tokens])):
            return None
    return rate(within(chunks, start, end), (end - start) / 1e9)


def level_window(rows: list[Row], flown: list[Row]) -> tuple[float, float]:
    """From the first to the last moment at which as many are in flight as for half of the time to the last send."""
    last_send = max(row["sent_ns"] for row in rows if row["sent_ns"] is not None)
    moments = sorted({time for row in flown for time in (row["sent_ns"], row["finished_ns"])} | {last_send})
    levels = {time: in_flight(flown, time) for time in moments}
    held: Counter[int] = Counter()
    for start, end in pairwise(moments):
        if end <= last_send:
            held[levels[start]] += end - start
    level = max(
        height
        for height in held or levels.values()
        if 2 * sum(time for other, time in held.items() if other >= height) >= sum(held.values())
    )
    reached = [time for time in moments if levels[time] >= level and time <= last_send]
    left = min((time for time in moments if time > reached[-1]), default=last_send)
    return reached[0], min(left, last_send)


def cut(start: float, end: float, pieces: int) -> list[float]:
    return [start + (end - start) * piece / pieces for piece in range(pieces + 1)]


def within(chunks: list[tuple[int, int]], start: float, end: float) -> int:
    return sum(tokens for time, tokens in chunks if start < time <= end)


def standard_error(values: list[int]) -> float:
    return pvariance(values) / len(values)


def only_rises(values: list[float] | list[int]) -> bool:
    """Mann-Kendall, its chance counted as the coefficients of (1)(1 + x)(1 + x + x²)..."""
    falls = sum(later <= earlier for place, earlier in enumerate(values) for later in values[place + 1 :])
    orders = [1]
    for size in range(2, len(values) + 1):
        wider = [0] * (len(orders) + size - 1)
        for place, count in enumerate(orders):
            for added in range(size):
                wider[place + added] += count
        orders = wider
    return sum(orders[: falls + 1]) / math.factorial(len(values)) < 0.01


def holds(row: Row, slo: dict[str, float | None]) -> bool:
    pace = tpot_ms(row)
    first = (row["chunk_ns"][0] - row["scheduled_ns"]) / 1e6 if row["chunk_ns"] else math.inf
    last = (row["chunk_ns"][-1] - row["scheduled_ns"]) / 1e6 if row["chunk_ns"] else math.inf
    seen = {"ttft_ms": first, "tpot_ms": 0.0 if pace is None else pace, "e2e_ms": last}
    return all(bound is None or seen[name] <= bound for name, bound in slo.items())
