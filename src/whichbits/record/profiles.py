"""What profilers wrote for a run: profiles/ARM-LOAD.json, the traces beside it, and a folder for each server."""

import gzip
import shutil
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote

from whichbits.record.atomic import replacing

FOLDER = "profiles"
_SUFFIX = ".trace.json.gz"


def profile_path(folder: Path, arm: str, concurrency: int | None, request_rate: float | None) -> Path:
    """Return the path of the summary of one arm's window at a load."""
    return folder / FOLDER / f"{_stem(arm, concurrency, request_rate)}.json"


def written_folder(folder: Path, arm: str, replica: str) -> Path:
    """Return the folder, by its whole path, into which a server writes its traces."""
    return (folder / FOLDER / "servers" / f"{quote(arm, safe='')}-{replica}").resolve()


def written_traces(server_folder: Path) -> tuple[Path, ...]:
    """Return the traces that lie in a server's folder, the ranks of its workers in order."""
    found = (path for path in server_folder.rglob("*") if path.name.endswith((".json", ".json.gz")))
    return tuple(sorted(found))


def keep_traces(profile: Path, traces: Iterable[Path]) -> tuple[Path, ...]:
    """Move traces of one window beside its summary, packed; return where they lie now."""
    kept = []
    for rank, trace in enumerate(traces):
        path = profile.with_name(f"{profile.stem}.{rank}{_SUFFIX}")
        if trace.suffix == ".gz":
            shutil.move(trace, path)
        else:
            _pack(trace, path)
        kept.append(path)
    return tuple(kept)


def _pack(trace: Path, path: Path) -> None:
    with replacing(path) as partial, trace.open("rb") as plain, gzip.open(partial, "wb", compresslevel=6) as packed:
        shutil.copyfileobj(plain, packed)
    trace.unlink()


def _stem(arm: str, concurrency: int | None, request_rate: float | None) -> str:
    rate = "" if request_rate is None else f"-{request_rate:g}rps"
    return f"{quote(arm, safe='')}{rate}{'' if concurrency is None else f'-c{concurrency}'}"
