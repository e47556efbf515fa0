"""The predictor's constants: each with its uncertainty and its source, drawn anew for each of a prediction's plays."""

import math
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from whichbits.traffic.draws import Draws, normal_quantiles


@dataclass(frozen=True)
class Constant:
    """A positive number: its best value, the standard deviation of its logarithm, where it is from."""

    value: float
    sigma: float
    source: str


@dataclass(frozen=True)
class Constants:
    """All constants by dotted name, as ``kernel.marlin.ada.memory``."""

    cells: Mapping[str, Constant]

    def __getitem__(self, name: str) -> float:
        """Return the value of a constant."""
        return self.cells[name].value

    def get(self, name: str, default: float) -> float:
        """Return the value of a constant that not every device has."""
        found = self.cells.get(name)
        return default if found is None else found.value

    def moved(self, shifts: Mapping[str, float]) -> "Constants":
        """Return the constants with some logarithms shifted."""
        moved = {
            name: Constant(self.cells[name].value * math.exp(shift), self.cells[name].sigma, self.cells[name].source)
            for name, shift in shifts.items()
        }
        return Constants({**self.cells, **moved})

    def known(self, sigmas: Mapping[str, float], source: str) -> "Constants":
        """Return the constants with some uncertainties replaced, as a calibration does."""
        known = {name: Constant(self.cells[name].value, sigma, source) for name, sigma in sigmas.items()}
        return Constants({**self.cells, **known})

    def draws(self, count: int, seed: int = 0) -> "list[Constants]":
        """Return ``count`` samples; each constant takes one value from each of ``count`` equal shares of its spread.

        This is Latin hypercube sampling (McKay, Beckman and Conover 1979): few draws cover every constant's range.
        """
        quantiles = normal_quantiles(count)
        uncertain = [name for name, cell in self.cells.items() if cell.sigma > 0]
        orders = {name: quantiles[Draws(seed, "constants", name).order(count)] for name in uncertain}
        return [
            self.moved({name: self.cells[name].sigma * float(orders[name][at]) for name in uncertain})
            for at in range(count)
        ]


@cache
def default_constants() -> Constants:
    """Return the table that comes with this release."""
    table = tomllib.loads(files("whichbits.predict").joinpath("constants.toml").read_text(encoding="utf-8"))
    return Constants(dict(_cells(table, table["sources"], "")))


@cache
def visible_memory_gib() -> Mapping[str, float]:
    """Return the memory that a process sees, by the device's short name."""
    table = tomllib.loads(files("whichbits.predict").joinpath("constants.toml").read_text(encoding="utf-8"))
    memory: Mapping[str, float] = table["memory_gib"]
    return memory


def _cells(table: Mapping[str, Any], sources: Mapping[str, str], path: str) -> Iterator[tuple[str, Constant]]:
    for key, value in table.items():
        if isinstance(value, dict) and key not in ("sources", "memory_gib"):
            yield from _cells(value, sources, f"{path}{key}.")
        elif isinstance(value, list):
            yield f"{path}{key}", Constant(float(value[0]), float(value[1]), sources[value[2]])
