"""Accelerators by the names that engines and drivers print, with dense peaks and a source for every figure."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from typing import Any

from whichbits.errors import BadInput

NUMBER_TYPES = ("fp32", "fp16", "bf16", "fp8", "int8", "int4", "fp4")
_BRANDS = {"nvidia", "amd", "instinct", "geforce", "tesla", "corporation"}


@dataclass(frozen=True)
class Figure:
    """A number and where it is from; ``with_sparsity`` is what the source prints for 2:4 sparse weights."""

    value: float
    source: str
    with_sparsity: float | None = None


@dataclass(frozen=True)
class Device:
    """What a device can do at most. A number type that it has no units for is not in ``peaks``.

    ``peaks`` are dense, in TFLOPS (TOPS for integers); bandwidth in GB/s (1e9), memory in GB as sold, power in W.
    """

    name: str
    names: tuple[str, ...]
    compute_capability: str | None
    peaks: Mapping[str, Figure]
    bandwidth: Figure
    memory: Figure
    power: Figure | None

    @property
    def bandwidth_gb_s(self) -> float:
        """Peak bandwidth of its memory."""
        return self.bandwidth.value

    def peak_tflops(self, number_type: str) -> float | None:
        """Return the dense peak for operands of ``number_type``; None if it has no units for them."""
        found = self.peaks.get(number_type)
        return None if found is None else found.value

    def ridge(self, number_type: str) -> float | None:
        """Return the FLOP per byte at which arithmetic takes as long as reading: peak / bandwidth."""
        peak = self.peak_tflops(number_type)
        return None if peak is None else 1e3 * peak / self.bandwidth_gb_s


def find_device(name: str) -> Device:
    """Return the device that a driver, an engine or a person calls ``name``.

    Raises:
        BadInput: ``device_unknown``, with the nearest names.
    """
    found = known_device(name)
    if found is None:
        near = _near(name)
        raise BadInput(
            "device_unknown",
            f"there are no figures for the device {name!r}" + (f"; did you mean {' or '.join(near)}?" if near else ""),
            why="it is misspelt, could be one of several variants, or is not in the table",
            fix=f"use one of: {', '.join(sorted(devices()))}",
        )
    return found


def known_device(name: str) -> Device | None:
    """Return the device of that name; None if the table has none, or several that it could be."""
    return _by_words().get(_words(name))


@cache
def devices() -> Mapping[str, Device]:
    """Return the table by short name."""
    table = tomllib.loads(files("whichbits.hardware").joinpath("devices.toml").read_text(encoding="utf-8"))
    return {name: _device(name, entry, table["sources"]) for name, entry in table["device"].items()}


def _device(name: str, entry: Mapping[str, Any], sources: Mapping[str, str]) -> Device:
    figures = {
        key: Figure(float(cell[0]), sources[cell[1]], *map(float, cell[2:]))
        for key, cell in entry.items()
        if key not in ("names", "compute_capability")
    }
    return Device(
        name=name,
        names=tuple(entry["names"]),
        compute_capability=entry["compute_capability"][0] if "compute_capability" in entry else None,
        peaks={key: figures[key] for key in NUMBER_TYPES if key in figures},
        bandwidth=figures["bandwidth"],
        memory=figures["memory"],
        power=figures["power"],
    )


@cache
def _by_words() -> Mapping[tuple[str, ...], Device]:
    return {_words(name): device for device in devices().values() for name in (device.name, *device.names)}


def _words(name: str) -> tuple[str, ...]:
    """Return what tells devices apart: words in any order, without maker, brand and punctuation."""
    return tuple(sorted(set(re.findall(r"[a-z0-9]+", name.casefold())) - _BRANDS))


def _near(name: str) -> list[str]:
    """Return the short names nearest to ``name``: those that contain all its words, or else look like it."""
    words = set(_words(name))
    wider = [device.name for key, device in _by_words().items() if words and words <= set(key)]
    return list(dict.fromkeys(wider)) or get_close_matches(name, devices(), n=2)
