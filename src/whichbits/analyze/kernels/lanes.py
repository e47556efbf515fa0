"""The timed events of a trace in arrays: a lane for each GPU and each thread of the host, and the engine's steps."""

import re
from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_ON_DEVICE = frozenset({"kernel", "gpu_memcpy", "gpu_memset"})
_ANNOTATIONS = frozenset({"user_annotation", "gpu_user_annotation"})
_STEP = re.compile(r"^execute_(?:\d+_)?context_(\d+)\D")
_STEP_BEFORE_0_11 = re.compile(r"^execute_new_(\d+)_cached_")


@dataclass
class Lane:
    """Events of one device or thread in the order of the file; times in microseconds. ``tags`` are numbers of names."""

    starts: "array[float]" = field(default_factory=lambda: array("d"))
    durations: "array[float]" = field(default_factory=lambda: array("d"))
    tags: "array[int]" = field(default_factory=lambda: array("q"))

    def add(self, start: float, duration: float, tag: int) -> None:
        """Append one event."""
        self.starts.append(start)
        self.durations.append(duration)
        self.tags.append(tag)

    def sorted(self) -> tuple[Floats, Floats, Ints]:
        """Return starts, durations and tags by start; of events that start together, the longest first."""
        starts = np.asarray(self.starts, dtype=np.float64)
        durations = np.asarray(self.durations, dtype=np.float64)
        order = np.lexsort((-durations, starts))
        return starts[order], durations[order], np.asarray(self.tags, dtype=np.int64)[order]


@dataclass
class Lanes:
    """All lanes of one trace.

    ``steps`` are the engine's as each stream of each device ran them, ``host_steps`` as the host asked for
    them; their tag is 1 with prefill, else 0. ``calls`` are those of the CUDA runtime on the host: microseconds and
    number by name.
    """

    names: list[str] = field(default_factory=list)
    devices: dict[int, Lane] = field(default_factory=dict)
    threads: dict[str, Lane] = field(default_factory=dict)
    steps: dict[int, dict[str, Lane]] = field(default_factory=dict)
    host_steps: Lane = field(default_factory=Lane)
    calls: dict[str, tuple[float, int]] = field(default_factory=dict)
    _numbers: dict[str, int] = field(default_factory=dict)

    def take(self, event: dict[str, Any]) -> None:
        """Put one event where it belongs; what has no duration or is of no interest is passed over."""
        match event:
            case {
                "cat": str(category),
                "name": str(name),
                "ts": int() | float() as start,
                "dur": int() | float() as us,
            }:
                self._take(category, name, float(start), float(us), event)
            case _:
                pass

    def _take(self, category: str, name: str, start: float, us: float, event: dict[str, Any]) -> None:
        if category in _ON_DEVICE:
            self.devices.setdefault(_device(event), Lane()).add(start, us, self._number(name))
        elif category == "cpu_op":
            thread = f"{event.get('pid')}/{event.get('tid')}"
            self.threads.setdefault(thread, Lane()).add(start, us, self._number(name))
        elif category in ("cuda_runtime", "cuda_driver"):
            before = self.calls.get(name, (0.0, 0))
            self.calls[name] = (before[0] + us, before[1] + 1)
        elif category in _ANNOTATIONS and (step := _STEP.match(name) or _STEP_BEFORE_0_11.match(name)):
            self._steps_of(category, event).add(start, us, int(int(step[1]) > 0))

    def _steps_of(self, category: str, event: dict[str, Any]) -> Lane:
        if category == "user_annotation":
            return self.host_steps
        # A step that uses several streams is marked on each of them.
        streams = self.steps.setdefault(_device(event), {})
        return streams.setdefault(str(event.get("tid")), Lane())

    def main_steps(self, device: int) -> Lane | None:
        """Return the steps as the stream saw them that did most in them; None if none are marked."""
        return max(self.steps.get(device, {}).values(), key=lambda lane: sum(lane.durations), default=None)

    def _number(self, name: str) -> int:
        number = self._numbers.get(name)
        if number is None:
            number = self._numbers[name] = len(self.names)
            self.names.append(name)
        return number


def lanes_of(events: Iterable[dict[str, Any]]) -> Lanes:
    """Collect the events of a trace."""
    lanes = Lanes()
    for event in events:
        lanes.take(event)
    return lanes


def own_times(starts: Floats, durations: Floats) -> Floats:
    """Return what each of one thread's nested events, sorted by start, spent outside those within it."""
    own = durations.copy()
    open_events: list[int] = []
    ends = starts + durations
    for index in range(len(starts)):
        while open_events and ends[open_events[-1]] <= starts[index]:
            open_events.pop()
        if open_events:
            own[open_events[-1]] -= durations[index]
        open_events.append(index)
    return np.maximum(own, 0.0)


def _device(event: dict[str, Any]) -> int:
    arguments = event.get("args")
    device = arguments.get("device") if isinstance(arguments, dict) else None
    if isinstance(device, int):
        return device
    process = event.get("pid")
    return process if isinstance(process, int) else 0
