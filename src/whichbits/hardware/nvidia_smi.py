"""The NVIDIA cards of this machine, as nvidia-smi lists them."""

import csv
import subprocess

_QUERY = ("index", "name", "uuid", "memory.total", "driver_version", "power.limit", "clocks.max.sm")
_SECONDS = 20.0


def installed_gpus() -> list[dict[str, str]]:
    """Return one mapping a card, by nvidia-smi's own field names; empty where there is no card or no driver."""
    try:
        listed = subprocess.run(
            ["nvidia-smi", f"--query-gpu={','.join(_QUERY)}", "--format=csv,noheader"],
            capture_output=True,
            text=True,
            check=True,
            timeout=_SECONDS,
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return []
    return [dict(zip(_QUERY, map(str.strip, row), strict=False)) for row in csv.reader(listed.splitlines()) if row]


def used_memory_mib() -> float | None:
    """Return the memory that is taken on all cards together; None where there is no card or no driver."""
    try:
        listed = subprocess.run(
            ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"],
            capture_output=True,
            text=True,
            check=True,
            timeout=_SECONDS,
        ).stdout
        return sum(float(line) for line in listed.split()) if listed.split() else None
    except (OSError, subprocess.SubprocessError, ValueError):
        return None


def device_name(gpus: list[dict[str, str]], indices: tuple[int, ...] | None) -> str | None:
    """Return the name that the cards at ``indices`` share (None: all cards); None if they differ or there are none."""
    names = {gpu["name"] for gpu in gpus if indices is None or int(gpu["index"]) in indices}
    return names.pop() if len(names) == 1 else None
