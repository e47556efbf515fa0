"""Calibrations that come with this release, each for one GPU and one release of an engine."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files

import msgspec

from whichbits.hardware.devices import find_device
from whichbits.predict.constants import Constant, Constants
from whichbits.predict.deployment.engine_version import EngineVersion

OF_THE_HOST = ("host.", "front.")
"""Begin the names of constants that belong to the machine around the GPU: no shipped calibration holds any."""


class Provenance(msgspec.Struct, frozen=True):
    """Where a calibration is from: enough to judge whether it speaks of the case at hand."""

    gpu: str
    engine: str
    version: str
    """Major and minor, as ``0.25``."""
    made: str
    runs: str
    formats: tuple[str, ...]
    fitted_to: str
    residual_before: float
    """Root mean square of ln(predicted / measured) over the rows that it was fitted to."""
    residual_after: float


class Shipped(msgspec.Struct, frozen=True):
    """A calibration, its provenance, and its file's name without the ending."""

    name: str
    provenance: Provenance
    constants: dict[str, Constant]

    def among(self, constants: Constants) -> Constants:
        """Return the constants with these in their place, their source being this calibration."""
        placed = {name: replace(fitted, source=f"calibration {self.name}") for name, fitted in self.constants.items()}
        return Constants({**constants.cells, **placed})

    def __str__(self) -> str:
        """Return what was fitted to what, in a sentence."""
        of = self.provenance
        return (
            f"predicted with the calibration {self.name} that comes with this release: {of.engine} {of.version} on "
            f"{of.gpu}, {of.made}, fitted to {of.fitted_to} ({of.runs}; {', '.join(of.formats)})"
        )


@cache
def shipped_calibrations() -> Mapping[tuple[str, tuple[int, int]], Shipped]:
    """Return all of them, by GPU and release."""
    folder = files("whichbits.predict").joinpath("calibrations")
    found = [each for each in folder.iterdir() if each.name.endswith(".json")]
    read = [msgspec.json.decode(each.read_bytes(), type=Shipped) for each in found]
    return {(each.provenance.gpu, EngineVersion.of(each.provenance.version).number): each for each in read}


def shipped_for(gpu: str, engine_version: str | None) -> Shipped | None:
    """Return the calibration for this GPU and release of vLLM, None if there is none. Raises BadInput for no GPU."""
    return shipped_calibrations().get((find_device(gpu).name, EngineVersion.of(engine_version).number))


@dataclass(frozen=True)
class Known:
    """What is known of any GPU: constants, and those that come calibrated for it if ``shipped`` are to be used."""

    constants: Constants
    engine_version: str | None = None
    shipped: bool = False

    def of(self, gpu: str) -> Constants:
        """Return the constants of a GPU. Raises BadInput for what is none."""
        found = shipped_for(gpu, self.engine_version) if self.shipped else None
        return self.constants if found is None else found.among(self.constants)
