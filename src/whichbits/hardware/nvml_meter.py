"""The meter's own process: sample NVIDIA GPUs through the driver's library while a cell runs.

    python nvml_meter.py < ORDERS

Standard input holds JSON lines. The first is ``{"origin_ns", "interval_seconds", "library", "devices"}``: the devices
are indices or UUIDs as CUDA_VISIBLE_DEVICES has them, null for all. It is answered by ``{"gpus": n, "error"}``. Then
come ``{"start": CELL, "path"}`` and ``{"pause": true}``, which is answered by ``{"samples": n, "error"}``; samples are
JSON lines in the file at the path. The end of standard input ends the process.

Times are CLOCK_MONOTONIC minus the run's origin. Standard library only, run by its path: a sample of one GPU takes
some tenths of a millisecond. Functions and their numbers: NVML API reference, nvml.h.
"""

import ctypes
import json
import os
import sys
import threading
import time
from typing import Any, BinaryIO

NICENESS = 5
_NS = 1_000_000_000
_SM, _MEMORY = 1, 2
_TEXT_BYTES = 96


class NvmlError(Exception):
    """The library is not there, or refuses."""


class _Memory(ctypes.Structure):
    _fields_ = (("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong))


class _Utilization(ctypes.Structure):
    _fields_ = (("gpu", ctypes.c_uint), ("memory", ctypes.c_uint))


class Gpu:
    """One device; what it does not tell is None."""

    def __init__(self, library: ctypes.CDLL, handle: ctypes.c_void_p, index: int) -> None:
        self._library, self._handle, self.index = library, handle, index
        self.uuid = self._text("nvmlDeviceGetUUID")
        self._still = {
            "gpu": index,
            "uuid": self.uuid,
            "sm_clock_max_mhz": self._number("nvmlDeviceGetMaxClockInfo", ctypes.c_uint, _SM),
        }

    def sample(self) -> dict[str, Any]:
        """Return all that is sampled, by the names of the columns of telemetry.parquet."""
        memory = self._fill("nvmlDeviceGetMemoryInfo", _Memory())
        busy = self._fill("nvmlDeviceGetUtilizationRates", _Utilization())
        return {
            **self._still,
            "power_w": _scaled(self._number("nvmlDeviceGetPowerUsage", ctypes.c_uint)),
            "power_limit_w": _scaled(self._number("nvmlDeviceGetEnforcedPowerLimit", ctypes.c_uint)),
            "energy_j": _scaled(self._number("nvmlDeviceGetTotalEnergyConsumption", ctypes.c_ulonglong)),
            "sm_clock_mhz": self._number("nvmlDeviceGetClockInfo", ctypes.c_uint, _SM),
            "memory_clock_mhz": self._number("nvmlDeviceGetClockInfo", ctypes.c_uint, _MEMORY),
            "temperature_c": self._number("nvmlDeviceGetTemperature", ctypes.c_uint, 0),
            "memory_used_bytes": None if memory is None else memory.used,
            "utilisation": None if busy is None else busy.gpu / 100,
            "throttle_reasons": self._throttle_reasons(),
        }

    def _throttle_reasons(self) -> int | None:
        """Return the bits; drivers from 535 on call them event reasons, and keep the old name for now."""
        reasons = self._number("nvmlDeviceGetCurrentClocksEventReasons", ctypes.c_ulonglong)
        if reasons is None:
            return self._number("nvmlDeviceGetCurrentClocksThrottleReasons", ctypes.c_ulonglong)
        return reasons

    def _number(self, function: str, kind: Any, *arguments: int) -> int | None:
        filled = self._fill(function, kind(), *arguments)
        return None if filled is None else filled.value

    def _fill(self, function: str, target: Any, *arguments: int) -> Any:
        """Let ``function`` fill ``target`` and return it; None if the driver or the device has no such thing."""
        call = getattr(self._library, function, None)
        if call is None or call(self._handle, *arguments, ctypes.byref(target)) != 0:
            return None
        return target

    def _text(self, function: str) -> str | None:
        target = ctypes.create_string_buffer(_TEXT_BYTES)
        failed = getattr(self._library, function)(self._handle, target, ctypes.c_uint(_TEXT_BYTES)) != 0
        return None if failed else target.value.decode(errors="replace")


def gpus(library_name: str, devices: list[str] | None) -> list[Gpu]:
    """Return the GPUs among ``devices`` (None: all). Raises NvmlError."""
    try:
        library = ctypes.CDLL(library_name)
        code = library.nvmlInit_v2()
    except (OSError, AttributeError) as error:
        raise NvmlError(str(error)) from error
    if code != 0:
        raise NvmlError(f"nvmlInit_v2 returned {code}")
    count = ctypes.c_uint()
    if library.nvmlDeviceGetCount_v2(ctypes.byref(count)) != 0:
        raise NvmlError("the GPUs cannot be counted")
    found = [gpu for index in range(count.value) if (gpu := _gpu(library, index)) is not None]
    return [gpu for gpu in found if devices is None or any(_is(gpu, device) for device in devices)]


def _gpu(library: ctypes.CDLL, index: int) -> Gpu | None:
    handle = ctypes.c_void_p()
    if library.nvmlDeviceGetHandleByIndex_v2(ctypes.c_uint(index), ctypes.byref(handle)) != 0:
        return None
    return Gpu(library, handle, index)


def _is(gpu: Gpu, device: str) -> bool:
    return device == str(gpu.index) or (device.startswith("GPU-") and (gpu.uuid or "").startswith(device))


def _scaled(thousandths: int | None) -> float | None:
    return None if thousandths is None else thousandths / 1000


class Meter(threading.Thread):
    """Samples at a steady pace between ``begin`` and ``pause``; beats that are missed are skipped."""

    def __init__(self, found: list[Gpu], origin_ns: int, interval_ns: int) -> None:
        super().__init__(daemon=True)
        self._gpus, self._origin_ns, self._interval_ns = found, origin_ns, interval_ns
        self._changed = threading.Condition()
        self._cell: int | None = None
        self._path = ""
        self._samples = 0
        self._error: str | None = None

    def begin(self, cell: int, path: str) -> None:
        with self._changed:
            self._cell, self._path, self._samples, self._error = cell, path, 0, None
            self._changed.notify()

    def pause(self) -> dict[str, Any]:
        """Stop; all that is counted is in the file."""
        with self._changed:
            self._cell = None
            return {"samples": self._samples, "error": self._error}

    def run(self) -> None:
        with self._changed:
            while True:
                while self._cell is None:
                    self._changed.wait()
                began_ns = time.monotonic_ns()
                self._take(self._cell)
                left_ns = self._interval_ns - (time.monotonic_ns() - began_ns)
                self._changed.wait(max(0, left_ns) / _NS)

    def _take(self, cell: int) -> None:
        try:
            with open(self._path, "a", encoding="utf-8") as file:  # noqa: PTH123 - pathlib is needed for nothing else
                for gpu in self._gpus:
                    sample = {"cell": cell, "time_ns": time.monotonic_ns() - self._origin_ns, **gpu.sample()}
                    file.write(json.dumps(sample) + "\n")
            self._samples += 1
        except OSError as error:
            self._error = str(error)


def obey(orders: BinaryIO) -> None:
    """Carry out orders until they end."""
    setup = json.loads(orders.readline())
    try:
        found, error = gpus(setup["library"], setup["devices"]), None
    except NvmlError as refused:
        found, error = [], str(refused)
    print(json.dumps({"gpus": len(found), "error": error}), flush=True)
    if not found:
        return
    meter = Meter(found, setup["origin_ns"], round(setup["interval_seconds"] * _NS))
    meter.start()
    for line in orders:
        order = json.loads(line)
        if "start" in order:
            meter.begin(order["start"], order["path"])
        else:
            print(json.dumps(meter.pause()), flush=True)


if __name__ == "__main__":
    os.nice(NICENESS)
    obey(sys.stdin.buffer)
