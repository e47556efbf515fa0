"""What an arm is and where it is from: kept beside its weights as ``whichbits-arm.json``."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from typing import Any

import msgspec

from whichbits import __version__
from whichbits.arms.files.source import Source
from whichbits.arms.recipe import Recipe
from whichbits.arms.verify import Bytes, LayerError

FILE = "whichbits-arm.json"


@dataclass(frozen=True)
class Arm:
    """A finished arm. ``kept`` says why matrices are as they were; ``share`` of the linear weights is quantised."""

    folder: Path
    recipe: Recipe
    errors: tuple[LayerError, ...]
    kept: Mapping[str, str]
    share: float
    bytes: Bytes

    @property
    def typical_error(self) -> float:
        """Root mean square of the layers' relative errors."""
        return sqrt(sum(error.relative**2 for error in self.errors) / len(self.errors)) if self.errors else 0.0

    @property
    def worst(self) -> LayerError | None:
        """The layer with the largest relative error."""
        return max(self.errors, key=lambda error: error.relative, default=None)


def write_provenance(folder: Path, arm: Arm, source: Source, hashes: Mapping[str, str], how: str) -> None:
    """Write the file into ``folder``, which need not have the arm's name yet."""
    content = {
        "schema_version": 1,
        "made_by": f"whichbits {__version__}",
        "how": how,
        "source": {"folder": str(source.folder.resolve()), "sha256": dict(hashes)},
        "weight_format": arm.recipe.weight_format,
        "scheme": arm.recipe.scheme,
        "strategy": arm.recipe.strategy,
        "group_size": arm.recipe.group_size,
        "symmetric": arm.recipe.symmetric,
        "quantised_share": arm.share,
        "bytes": {"stored": arm.bytes.stored, "predicted": arm.bytes.predicted},
        "relative_error": arm.typical_error,
        "layers": [
            {"module": each.module, "relative_error": each.relative, "expected": each.expected} for each in arm.errors
        ],
        "kept": dict(arm.kept),
    }
    _write(folder, content)


def write_conversion(folder: Path, gguf: Path, hashes: Mapping[str, str], weight_format: str) -> None:
    """Say of a checkpoint that was made of a GGUF file what it was made of."""
    _write(
        folder,
        {
            "schema_version": 1,
            "made_by": f"whichbits {__version__}",
            "how": "widened from GGUF",
            "source": {"file": str(gguf.resolve()), "sha256": dict(hashes)},
            "weight_format": weight_format,
        },
    )


def _write(folder: Path, content: Mapping[str, Any]) -> None:
    (folder / FILE).write_bytes(msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n")
