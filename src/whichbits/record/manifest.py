"""run.json: the manifest on disk, and what is said when it cannot be used."""

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import msgspec

from whichbits.errors import BadInput
from whichbits.record.atomic import replacing
from whichbits.record.recorded_study import refuse_misshapen
from whichbits.record.regular import insist_on_file
from whichbits.record.schema import SCHEMA_VERSION, Cell, Manifest

FILE_NAME = "run.json"


class _Versioned(msgspec.Struct):
    schema_version: int


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Replace the folder's manifest in one step."""
    with replacing(folder / FILE_NAME) as partial:
        partial.write_bytes(msgspec.json.format(msgspec.json.encode(manifest), indent=2))


def read_manifest(folder: Path) -> Manifest:
    """Read the folder's manifest.

    Raises:
        BadInput: ``run_not_found``, ``unreadable_file``, ``run_too_new`` or ``run_broken``.
    """
    content = _content(folder)
    try:
        refuse_newer(folder, msgspec.json.decode(content, type=_Versioned).schema_version)
        manifest = msgspec.json.decode(content, type=Manifest)
        refuse_misshapen(manifest.study)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise broken(folder, f"{FILE_NAME} cannot be read: {error}") from error
    return _in_the_studys_order(manifest)


def _in_the_studys_order(manifest: Manifest) -> Manifest:
    """Return the manifest with its arms as the study names them, not as their servers came up.

    Arms have the same place, colour and mark in the reports of all runs of a study then.
    """
    named = manifest.study.get("arms")
    first = [arm for arm in named if arm in manifest.arms] if isinstance(named, dict) else []
    return replace(manifest, arms={arm: manifest.arms[arm] for arm in (*first, *manifest.arms)})


def with_ended(manifest: Manifest, ended: Iterable[Cell]) -> Manifest:
    """Return the manifest with these cells in place of their planned twins, in the order of their numbers."""
    cells = {cell.cell: cell for cell in (*manifest.cells, *ended)}
    return replace(manifest, cells=tuple(cells[number] for number in sorted(cells)))


def refuse_newer(folder: Path, version: int) -> None:
    """Raise ``run-too-new`` for a schema that this release does not know."""
    if version > SCHEMA_VERSION:
        raise BadInput(
            "run_too_new",
            f"{folder} has schema version {version}; this whichbits reads up to {SCHEMA_VERSION}",
            why="the run was written by a later whichbits",
            fix="upgrade whichbits, or read the run where it was written",
        )


def broken(folder: Path, what: str) -> BadInput:
    """Return the error for a folder that is a run, but damaged."""
    return BadInput(
        "run_broken",
        f"{folder}: {what}",
        why="a file of the run was edited, truncated or removed after it was written",
        fix="restore the folder from a copy, or measure again",
    )


def _refuse_other_letters(folder: Path) -> None:
    """Refuse a name that is not UTF-8: neither a report nor Arrow can write it."""
    try:
        str(folder).encode()
    except UnicodeEncodeError as error:
        shown = os.fsencode(folder).decode(errors="replace")
        raise BadInput(
            "run_name_unreadable",
            f"the name of the run folder {shown} is not UTF-8",
            why="it was made, or copied, by a system that writes names in another way",
            fix="rename the folder",
        ) from error


def _content(folder: Path) -> bytes:
    path = folder / FILE_NAME
    _refuse_other_letters(folder)
    try:
        insist_on_file(path)
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError, ValueError) as error:  # ValueError: NUL is in no name
        raise BadInput(
            "run_not_found",
            f"{folder} is not a run: it has no {FILE_NAME}",
            why="the path is wrong, or names the folder above the runs",
            fix="give the path of one run folder, such as runs/2026-11-29T1404-quickstart",
        ) from error
    except OSError as error:
        raise BadInput(
            "unreadable_file",
            f"{path} cannot be read: {error.strerror}.",
            why="It does not exist here, is a folder or a pipe, or belongs to someone else.",
            fix="Check the path and its permissions.",
        ) from error
