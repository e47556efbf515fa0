"""Which files traffic is read of: regular ones, since others may never end."""

import os
from pathlib import Path

import pytest

from whichbits.errors import BadInput
from whichbits.traffic.version import version_of


def test_a_pipe_or_a_device_is_refused_before_it_is_opened(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    for path in (pipe, Path("/dev/zero")):
        with pytest.raises(BadInput, match="no regular file") as refused:
            version_of(path)
        assert refused.value.code == "traffic_file_unreadable"


def test_a_folder_is_named_one(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="Is a directory"):
        version_of(tmp_path)
