"""What the processor at hand does at most, measured in a few seconds: memory bandwidth and matrix products.

Bandwidth is STREAM's Add (J. D. McCalpin, https://www.cs.virginia.edu/stream/): c = a + b over arrays far larger than
the caches, two reads and a write counted. The peak is numpy's float32 GEMM, 2 n^3 operations. Both take the best of
several rounds: what disturbs only slows.
"""

import os
import platform
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import perf_counter

import numpy as np
import psutil

from whichbits.hardware.devices import Device, Figure

_ARRAY_BYTES = 128 * 2**20
_GEMM_SIZE = 1536
_ROUNDS = 10
_GB = 1e9


def probe_processor() -> Device:
    """Measure this machine's processor; takes a few seconds and all its cores, so never beside a measurement."""
    name = processor_name()
    return Device(
        name=name,
        names=(),
        compute_capability=None,
        peaks={"fp32": Figure(gemm_tflops(), "measured: numpy float32 GEMM, the best of several")},
        bandwidth=Figure(add_bandwidth_gb_s(), "measured: STREAM Add by numpy in threads, the best of several"),
        memory=Figure(psutil.virtual_memory().total / _GB, "the operating system"),
        power=None,
    )


def processor_name() -> str:
    """Return the model name that the kernel knows, or the architecture."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text(encoding="utf-8").splitlines() if cpuinfo.is_file() else []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor() or platform.machine()


def add_bandwidth_gb_s(array_bytes: int = _ARRAY_BYTES, rounds: int = _ROUNDS) -> float:
    """Return GB/s of c = a + b over three arrays, each thread on its own slice."""
    threads = len(os.sched_getaffinity(0))
    size = array_bytes // 8
    first, second, out = np.ones(size), np.ones(size), np.zeros(size)
    slices = [slice(size * part // threads, size * (part + 1) // threads) for part in range(threads)]

    def add(part: slice) -> None:
        np.add(first[part], second[part], out=out[part])

    with ThreadPoolExecutor(threads) as pool:
        seconds = _best_seconds(lambda: list(pool.map(add, slices)), rounds)
    return 3 * size * 8 / seconds / _GB


def gemm_tflops(size: int = _GEMM_SIZE, rounds: int = _ROUNDS) -> float:
    """Return TFLOPS of a square float32 matrix product."""
    left, right = np.ones((size, size), np.float32), np.ones((size, size), np.float32)
    out = np.empty_like(left)
    seconds = _best_seconds(lambda: np.matmul(left, right, out=out), rounds)
    return 2 * size**3 / seconds / 1e12


def _best_seconds(work: Callable[[], object], rounds: int) -> float:
    """Return the shortest of several timings, after one that pays for page faults and thread starts."""
    work()
    return min(_timings(work, rounds))


def _timings(work: Callable[[], object], rounds: int) -> Iterator[float]:
    for _ in range(rounds):
        start = perf_counter()
        work()
        yield perf_counter() - start
