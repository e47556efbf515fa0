"""A calibration on disk: the constants that were fitted, and what is left of their uncertainty."""

from pathlib import Path

import msgspec

from whichbits.errors import BadInput
from whichbits.predict.constants import Constant, Constants, default_constants
from whichbits.record.atomic import replacing


class _File(msgspec.Struct):
    constants: dict[str, Constant]


def write_calibration(path: Path, constants: Constants) -> None:
    """Write the constants that differ from this release's."""
    default = default_constants().cells
    fitted = {name: cell for name, cell in constants.cells.items() if cell != default.get(name)}
    with replacing(path) as partial:
        partial.write_bytes(msgspec.json.format(msgspec.json.encode(_File(fitted)), indent=2) + b"\n")


def read_calibration(path: Path) -> Constants:
    """Return this release's constants with those of the file in their place.

    Raises:
        BadInput: ``calibration_unusable``.
    """
    try:
        fitted = msgspec.json.decode(path.read_bytes(), type=_File).constants
    except (OSError, msgspec.MsgspecError, RecursionError) as error:
        raise _unusable(path, str(error)) from None
    default = default_constants().cells
    unknown = sorted(set(fitted) - set(default))
    if unknown:
        raise _unusable(path, f"there is no constant {unknown[0]}")
    return Constants({**default, **fitted})


def _unusable(path: Path, what: str) -> BadInput:
    return BadInput(
        "calibration_unusable",
        f"{path} is no calibration: {what}",
        why="the file is not there, was edited, or is of another release",
        fix="calibrate again from the run that it came from",
    )
