"""The NVIDIA cards of this machine, as nvidia-smi lists them."""

import csv
import subprocess

from whichbits.hardware.answering import Patience

PATIENCE_S = 8.0
"""For all that it is asked at a time: a driver that hangs does so for every question."""
_QUERY = ("index", "name", "uuid", "memory.total", "driver_version", "power.limit", "clocks.max.sm")


class NvidiaSmi:
    """Asks nvidia-smi; once it gave no answer, it is not asked again."""

    def __init__(self, patience_s: float = PATIENCE_S) -> None:
        """``patience_s`` is for all questions together."""
        self._patience_s = patience_s
        self._patience = Patience(patience_s)
        self.silent = False

    def ask(self, what: str, fields: tuple[str, ...], *, units: bool = False) -> list[list[str]]:
        """Return a row of cells a ``gpu`` or ``compute-apps`` process; empty where there is no card or no driver.

        A line that does not have a cell for each field is no answer: a driver in trouble says other things on stdout.
        """
        form = "csv,noheader" if units else "csv,noheader,nounits"
        command = ["nvidia-smi", f"--query-{what}={','.join(fields)}", f"--format={form}"]
        rows = [] if self.silent else self._rows(command)
        return [row for row in rows if len(row) == len(fields) and (fields[0] != "index" or row[0].isdecimal())]

    def _rows(self, command: list[str]) -> list[list[str]]:
        try:
            listed = self._patience.answer(command, self._patience_s)
            return [[cell.strip() for cell in row] for row in csv.reader(listed.splitlines())]
        except subprocess.TimeoutExpired:
            self.silent = True
            return []
        except (OSError, subprocess.SubprocessError, csv.Error):
            return []


def installed_gpus() -> list[dict[str, str]] | None:
    """Return one mapping a card, by nvidia-smi's own field names; empty where there is no card or no driver.

    None where nvidia-smi hangs, so that nobody knows.
    """
    asked = NvidiaSmi()
    found = [dict(zip(_QUERY, row, strict=False)) for row in asked.ask("gpu", _QUERY, units=True)]
    return None if asked.silent else found


def used_memory_mib() -> float | None:
    """Return the memory that is taken on all cards together; None where there is no card or no driver."""
    rows = NvidiaSmi().ask("gpu", ("memory.used",))
    try:
        return sum(float(used) for (used,) in rows) if rows else None
    except ValueError:
        return None


def device_name(gpus: list[dict[str, str]] | None, indices: tuple[int, ...] | None) -> str | None:
    """Return the name that the cards at ``indices`` share (None: all cards); None if they differ or there are none."""
    names = {gpu["name"] for gpu in gpus or () if indices is None or int(gpu["index"]) in indices}
    return names.pop() if len(names) == 1 else None
