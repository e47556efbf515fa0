"""Measures the studies that tests name, each in a process of its own and once a session."""

import subprocess
import sys
from pathlib import Path

from whichbits.errors import ClientLimited, SloMissed

_GOOD = (0, SloMissed.exit_code, ClientLimited.exit_code)
"""An SLO that was missed is for the test to judge; where the client was the limit, limits say so of each load."""


class Studies:
    """The runs of this session by study."""

    def __init__(self, folder: Path) -> None:
        """Keep runs below ``folder``."""
        self._folder = folder
        self._runs: dict[Path, Path] = {}

    def measured(self, study: Path) -> Path:
        """Return the run folder of a study, which is measured at the first call.

        Raises:
            RuntimeError: the run ended with an exit code other than 0, 5 or 6; with the end of what it said.
        """
        if study not in self._runs:
            self._runs[study] = self._measure(study)
        return self._runs[study]

    def _measure(self, study: Path) -> Path:
        output = self._folder / str(len(self._runs))
        # A process of its own: a study takes signals and event loops for itself.
        command = [sys.executable, "-m", "whichbits", "run", str(study), "--output", str(output), "--json", "--plain"]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        if ended.returncode not in _GOOD:
            raise RuntimeError(
                f"whichbits run {study} ended with exit code {ended.returncode}:\n{ended.stderr[-2000:]}"
            )
        (folder,) = output.iterdir()
        return folder
