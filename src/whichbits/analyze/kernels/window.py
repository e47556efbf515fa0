"""From the traces of a window to its times: sums by kind of work, gaps, calls of the host, steps of the engine."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from whichbits.analyze.kernels.kernel_time import FamilyTime, Gaps, HostTime, KernelTime, KindTime, NameTime, StepTime
from whichbits.analyze.kernels.lanes import Floats, Ints, Lane, Lanes, lanes_of, own_times
from whichbits.analyze.kernels.names import UNKNOWN, Basis, Kind, Work, work_of
from whichbits.analyze.kernels.trace import Trace

LONG_GAP_US = 50.0
"""Longer than any launch on a healthy host takes: in such a gap the GPU waits for work, not for a launch."""

_LAUNCHES = ("Launch",)
_WAITS = ("Synchronize",)
_MOST_UNKNOWN = 20


@dataclass(frozen=True)
class _Track:
    """One device's or thread's part of a window; ``tags`` number ``names``, times are microseconds."""

    names: Sequence[str]
    starts: Floats
    spans: Floats
    """From start to end."""
    times: Floats
    """What counts as its own: the same on a GPU."""
    tags: Ints
    steps: Lane | None = None


@dataclass
class _Sums:
    us: float = 0.0
    launches: int = 0

    def add(self, us: float, launches: int) -> None:
        self.us += us
        self.launches += launches


@dataclass(frozen=True)
class _Scale:
    """From sums in microseconds over all tracks to means in milliseconds, and to shares of the window."""

    tracks: int
    window_us: float

    def ms(self, us: float) -> float:
        return us / self.tracks / 1e3

    def share(self, us: float) -> float:
        return us / self.window_us if self.window_us else 0.0


@dataclass
class _Read:
    """What several traces of one window hold together."""

    tracks: list[_Track] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    version: str | None = None
    calls: list[dict[str, tuple[float, int]]] = field(default_factory=list)
    cut_off: bool = False


def kernel_time(paths: Iterable[Path]) -> KernelTime | None:
    """Read the traces of one window, one a rank; None if they time nothing. Raises OSError."""
    traces = [(trace := Trace(path), lanes_of(trace.events())) for path in paths]
    basis: Basis = "kernels" if any(lanes.devices for _, lanes in traces) else "operations"
    read = _Read()
    for trace, lanes in traces:
        read.cut_off = read.cut_off or trace.cut_off
        read.tracks += _device_tracks(lanes) if basis == "kernels" else _thread_tracks(lanes)
        read.names |= _device_names(trace.head, lanes) if basis == "kernels" else set()
        read.version = read.version or _version(trace.head)
        read.calls.append(lanes.calls)
    return _summed(read, basis) if read.tracks else None


def _device_tracks(lanes: Lanes) -> list[_Track]:
    return [
        _Track(lanes.names, starts, spans, spans, tags, lanes.main_steps(device))
        for device, lane in sorted(lanes.devices.items())
        for starts, spans, tags in [lane.sorted()]
    ]


def _thread_tracks(lanes: Lanes) -> list[_Track]:
    """Return the thread that the model runs on: the one with most time in operations."""
    tracks = [
        _Track(lanes.names, starts, spans, own_times(starts, spans), tags, lanes.host_steps)
        for lane in lanes.threads.values()
        for starts, spans, tags in [lane.sorted()]
    ]
    return sorted(tracks, key=lambda track: float(track.times.sum()))[-1:]


def _summed(read: _Read, basis: Basis) -> KernelTime:
    windows, gaps = zip(*(_window_and_gaps(track) for track in read.tracks), strict=True)
    scale = _Scale(len(read.tracks), float(sum(windows)))
    idle = np.concatenate(gaps)
    work = {name: work_of(name, basis) for track in read.tracks for name in track.names}
    by_name = _by_name(read.tracks)
    busy_us = scale.window_us - float(idle.sum())
    return KernelTime(
        basis=basis,
        devices=len(read.tracks) if basis == "kernels" else 0,
        device_names=tuple(sorted(read.names)),
        engine_version=read.version,
        window_ms=scale.ms(scale.window_us),
        busy_ms=scale.ms(busy_us),
        overlap_ms=scale.ms(max(0.0, sum(sums.us for sums in by_name.values()) - busy_us)),
        kinds=_kinds(by_name, work, scale),
        gaps=_gaps(idle, scale),
        host=_host(read.calls, scale) if basis == "kernels" else None,
        steps=_steps(read.tracks, work),
        unknown=_unknown(by_name, work, scale),
        cut_off=read.cut_off,
    )


def _window_and_gaps(track: _Track) -> tuple[float, Floats]:
    """Return the track's length, and the lengths of the stretches within in which nothing ran."""
    latest_end = np.maximum.accumulate(track.starts + track.spans)
    gaps = track.starts[1:] - latest_end[:-1]
    return float(latest_end[-1] - track.starts[0]), gaps[gaps > 0]


def _by_name(tracks: Sequence[_Track]) -> dict[str, _Sums]:
    sums: dict[str, _Sums] = defaultdict(_Sums)
    for track in tracks:
        times = np.bincount(track.tags, weights=track.times, minlength=len(track.names))
        launches = np.bincount(track.tags, minlength=len(track.names))
        for name, us, n in zip(track.names, times.tolist(), launches.tolist(), strict=True):
            if n:
                sums[name].add(us, n)
    return sums


def _kinds(by_name: dict[str, _Sums], work: dict[str, Work], scale: _Scale) -> tuple[KindTime, ...]:
    families: dict[Kind, dict[str, _Sums]] = defaultdict(lambda: defaultdict(_Sums))
    for name, sums in by_name.items():
        families[work[name].kind][work[name].family].add(sums.us, sums.launches)
    kinds = [_kind(kind, found, scale) for kind, found in families.items()]
    return tuple(sorted(kinds, key=lambda each: -each.ms))


def _kind(kind: Kind, families: dict[str, _Sums], scale: _Scale) -> KindTime:
    us = sum(sums.us for sums in families.values())
    by_time = sorted(families.items(), key=lambda item: -item[1].us)
    return KindTime(
        kind,
        scale.ms(us),
        scale.share(us),
        sum(sums.launches for sums in families.values()),
        tuple(FamilyTime(name, scale.ms(each.us), scale.share(each.us), each.launches) for name, each in by_time),
    )


def _unknown(by_name: dict[str, _Sums], work: dict[str, Work], scale: _Scale) -> tuple[NameTime, ...]:
    names = sorted((name for name in by_name if work[name].family == UNKNOWN), key=lambda name: -by_name[name].us)
    return tuple(
        NameTime(name, scale.ms(by_name[name].us), scale.share(by_name[name].us), by_name[name].launches)
        for name in names[:_MOST_UNKNOWN]
    )


def _gaps(idle: Floats, scale: _Scale) -> Gaps:
    total = float(idle.sum())
    return Gaps(
        n=len(idle),
        ms=scale.ms(total),
        share=scale.share(total),
        long_ms=scale.ms(float(idle[idle > LONG_GAP_US].sum())),
        longest_ms=float(idle.max(initial=0.0)) / 1e3,
    )


def _host(calls: Iterable[dict[str, tuple[float, int]]], scale: _Scale) -> HostTime:
    launch, wait = _Sums(), _Sums()
    for name, (us, n) in ((name, call) for each in calls for name, call in each.items()):
        for words, sums in ((_LAUNCHES, launch), (_WAITS, wait)):
            if any(word in name for word in words):
                sums.add(us, n)
    return HostTime(launch.launches, scale.ms(launch.us), wait.launches, scale.ms(wait.us))


def _steps(tracks: Sequence[_Track], work: dict[str, Work]) -> tuple[StepTime, ...]:
    found = [step for with_prefill in (False, True) if (step := _step_time(tracks, work, with_prefill=with_prefill))]
    return tuple(found)


def _step_time(tracks: Sequence[_Track], work: dict[str, Work], *, with_prefill: bool) -> StepTime | None:
    """Add up the steps of one sort over all tracks."""
    n, total_us = 0, 0.0
    kinds: dict[str, float] = defaultdict(float)
    for track in tracks:
        if track.steps is None or not track.steps.starts:
            continue
        starts, spans, prefill = track.steps.sorted()
        chosen = prefill == int(with_prefill)
        step = _step_of(track, starts)
        n += int(chosen.sum())
        total_us += float((_ends(track, step, starts + spans) - starts)[chosen].sum())
        inside = (step >= 0) & chosen[step]
        times = np.bincount(track.tags[inside], weights=track.times[inside], minlength=len(track.names))
        for name, us in zip(track.names, times.tolist(), strict=True):
            if us:
                kinds[work[name].kind] += us
    if not n:
        return None
    by_time = sorted(kinds.items(), key=lambda item: -item[1])
    return StepTime(with_prefill, n, total_us / n / 1e3, {kind: us / n / 1e3 for kind, us in by_time})


def _step_of(track: _Track, starts: Floats) -> Ints:
    """Return the step of each kernel, -1 before the first: a step has all that starts before the next step does.

    Its mark alone will not do: vLLM (0.25.1) ends it with the model's last layer, and the last projection, which reads
    as many bytes as several layers, and sampling come after it.
    """
    return np.searchsorted(starts, track.starts, side="right") - 1


def _ends(track: _Track, step: Ints, marked: Floats) -> Floats:
    """Return when each step ends: its mark or, if that is later, its last kernel."""
    ends = marked.copy()
    known = step >= 0
    np.maximum.at(ends, step[known], (track.starts + track.spans)[known])
    return ends


def _device_names(head: dict[str, Any], lanes: Lanes) -> set[str]:
    described = head.get("deviceProperties")
    if not isinstance(described, list):
        return set()
    named = {each.get("id"): each.get("name") for each in described if isinstance(each, dict)}
    return {name for device in lanes.devices if isinstance(name := named.get(device), str)}


def _version(head: dict[str, Any]) -> str | None:
    version = head.get("vllm_version")
    return version if isinstance(version, str) else None
