"""A run folder that goes away is named as the cause; a single missing file is a fault of ours, and is shown."""

from pathlib import Path

import pytest

from whichbits.cli.folder_gone import still_there
from whichbits.errors import BadInput


def test_a_folder_that_went_away_is_said(tmp_path: Path) -> None:
    folder = tmp_path / "run"

    with pytest.raises(BadInput, match="went away during the run") as told, still_there(folder):
        (folder / "requests.parquet").read_bytes()
    assert told.value.code == "run_folder_gone"
    assert str(folder) in told.value.what


def test_a_missing_file_of_a_folder_that_is_there_is_not_explained_away(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), still_there(tmp_path):
        (tmp_path / "requests.parquet").read_bytes()
