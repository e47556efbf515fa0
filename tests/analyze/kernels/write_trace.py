"""Traces in the layout of torch's profiler, from a few words an event."""

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

Event = dict[str, Any]


def kernel(name: str, start: float, us: float, device: int = 0, *, stream: int = 7, category: str = "kernel") -> Event:
    args = {"device": device, "stream": stream, "correlation": 1, "grid": [1, 1, 1], "est. achieved occupancy %": 4}
    return {
        "ph": "X",
        "cat": category,
        "name": name,
        "pid": device,
        "tid": stream,
        "ts": start,
        "dur": us,
        "args": args,
    }


def operation(name: str, start: float, us: float, thread: int = 1) -> Event:
    return {"ph": "X", "cat": "cpu_op", "name": name, "pid": 99, "tid": thread, "ts": start, "dur": us, "args": {}}


def call(name: str, start: float, us: float) -> Event:
    return {"ph": "X", "cat": "cuda_runtime", "name": name, "pid": 99, "tid": 1, "ts": start, "dur": us, "args": {}}


def step(prefills: int, start: float, us: float, category: str = "gpu_user_annotation", *, stream: int = 7) -> Event:
    name = f"execute_context_{prefills}(0)_generation_4(4)"
    return {"ph": "X", "cat": category, "name": name, "pid": 0, "tid": stream, "ts": start, "dur": us}


def trace_text(events: Sequence[Event], **head: Any) -> str:
    """As the profiler lays it out: keys of the whole first, an event over several lines, one key behind the list."""
    before = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA L4"}], **head}
    body = ",\n  ".join(json.dumps(event, indent=4) for event in events)
    opening = json.dumps(before, indent=2).removesuffix("\n}")
    return f'{opening},\n  "traceEvents": [\n  {body}\n  ],\n  "traceName": "x.json"\n}}\n'


def write_trace(path: Path, events: Sequence[Event], **head: Any) -> Path:
    content = trace_text(events, **head).encode()
    path.write_bytes(gzip.compress(content, 1) if path.suffix == ".gz" else content)
    return path
