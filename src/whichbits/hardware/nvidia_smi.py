"""The NVIDIA cards of this machine, as nvidia-smi lists them."""

import csv
import subprocess

_QUERY = ("index", "name", "uuid", "memory.total", "driver_version", "power.limit", "clocks.max.sm")
_SECONDS = 20.0
_LISTING_SECONDS = 10.0
_SAID = 200
"""Letters of a complaint that are repeated."""


def ask(what: str, fields: tuple[str, ...], *, units: bool = False) -> list[list[str]]:
    """Return a row of cells a ``gpu`` or ``compute-apps`` process; empty where there is no card or no driver.

    A line that does not have a cell for each field is no answer: a driver in trouble says other things on stdout.
    """
    form = "csv,noheader" if units else "csv,noheader,nounits"
    try:
        listed = subprocess.run(
            ["nvidia-smi", f"--query-{what}={','.join(fields)}", f"--format={form}"],
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=True,
            timeout=_SECONDS,
        ).stdout
        rows = [[cell.strip() for cell in row] for row in csv.reader(listed.splitlines())]
    except (OSError, subprocess.SubprocessError, csv.Error):
        return []
    return [row for row in rows if len(row) == len(fields) and (fields[0] != "index" or row[0].isdecimal())]


def trouble() -> str | None:
    """Return what is the matter where no card is listed; None without nvidia-smi, and where it calmly lists none."""
    try:
        listed = subprocess.run(
            ["nvidia-smi", "-L"],
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
            timeout=_LISTING_SECONDS,
        )
    except FileNotFoundError:
        return None
    except subprocess.TimeoutExpired:
        return f"does not answer within {_LISTING_SECONDS:g} s"
    except OSError as error:
        return f"does not start: {error.strerror}"
    said = [line.strip() for line in (listed.stdout + listed.stderr).splitlines() if line.strip()]
    if listed.returncode:
        return f"ends with {listed.returncode}: {said[0][:_SAID] if said else 'it says nothing'}"
    lists = any(line.startswith("GPU ") for line in said)
    return "lists cards, but does not tell of their state" if lists else None


def installed_gpus() -> list[dict[str, str]]:
    """Return one mapping a card, by nvidia-smi's own field names; empty where there is no card or no driver."""
    return [dict(zip(_QUERY, row, strict=False)) for row in ask("gpu", _QUERY, units=True)]


def used_memory_mib() -> float | None:
    """Return the memory that is taken on all cards together; None where there is no card or no driver."""
    rows = ask("gpu", ("memory.used",))
    try:
        return sum(float(used) for (used,) in rows) if rows else None
    except ValueError:
        return None


def device_name(gpus: list[dict[str, str]], indices: tuple[int, ...] | None) -> str | None:
    """Return the name that the cards at ``indices`` share (None: all cards); None if they differ or there are none."""
    names = {gpu["name"] for gpu in gpus if indices is None or int(gpu["index"]) in indices}
    return names.pop() if len(names) == 1 else None
