"""One arm's profiled window at one load, as a run keeps it."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from whichbits.analyze.kernels.kernel_time import KernelTime
from whichbits.record.atomic import replacing
from whichbits.record.manifest import broken
from whichbits.record.profiles import FOLDER, profile_path


@dataclass(frozen=True)
class Profile:
    """A window of ``seconds`` in traffic that is not measured, on one replica.

    ``traces`` are paths within the run's folder, one a rank; ``kernel_time`` is None if they time nothing.
    """

    arm: str
    concurrency: int | None
    request_rate: float | None
    replica: str
    seconds: float
    traces: tuple[str, ...]
    kernel_time: KernelTime | None
    notes: tuple[str, ...] = ()


def write_profile(folder: Path, profile: Profile) -> Path:
    """Keep a window's summary in the run at ``folder``."""
    path = profile_path(folder, profile.arm, profile.concurrency, profile.request_rate)
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as partial:
        partial.write_bytes(msgspec.json.format(msgspec.json.encode(profile), indent=2) + b"\n")
    return path


def read_profiles(folder: Path) -> Iterator[Profile]:
    """Yield the windows of a run, by name.

    Raises:
        BadInput: ``run_broken`` if one cannot be read.
    """
    for path in sorted((folder / FOLDER).glob("*.json")):
        try:
            yield msgspec.json.decode(path.read_bytes(), type=Profile)
        except msgspec.MsgspecError as error:
            raise broken(folder, f"{FOLDER}/{path.name} cannot be read: {error}") from error
