"""Which releases of vLLM are known, which Python each accepts, and which driver a CUDA needs."""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

from packaging.specifiers import SpecifierSet
from packaging.version import Version


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads(files("whichbits.doctor").joinpath("vllm_releases.toml").read_text(encoding="utf-8"))


def known_releases() -> tuple[Version, Version]:
    """Return the oldest and the newest release of vLLM, by major and minor, that this program was made for."""
    known = _table()["known"]
    return Version(known["oldest"]), Version(known["newest"])


def accepted_pythons(release: Version) -> SpecifierSet:
    """Return the Pythons that the wheels of a vLLM release accept."""
    rows = [row for row in _table()["python"] if Version(row["from"]) <= release]
    return SpecifierSet(rows[-1]["accepts"] if rows else _table()["python"][0]["accepts"])


def releases_for(python: str) -> list[tuple[str, str | None]]:
    """Return stretches of vLLM releases that a Python can install, as (first, first that no longer can or None)."""
    rows = _table()["python"]
    ends = [row["from"] for row in rows[1:]] + [None]
    fits = [(row["from"], end) for row, end in zip(rows, ends, strict=True) if python in SpecifierSet(row["accepts"])]
    merged: list[tuple[str, str | None]] = []
    for first, end in fits:
        if merged and merged[-1][1] == first:
            merged[-1] = (merged[-1][0], end)
        else:
            merged.append((first, end))
    return merged


def oldest_driver(cuda: str) -> Version | None:
    """Return the oldest driver for ``12.8`` or its like; None for a CUDA that the table does not have."""
    found = _table()["driver"].get(cuda.partition(".")[0])
    return None if found is None else Version(found)
