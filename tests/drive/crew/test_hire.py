"""A worker that cannot be started is an error in words."""

import errno
import os
import subprocess
from typing import Any, NoReturn

import pytest

from whichbits.drive.crew.hire import in_a_process
from whichbits.errors import BadInput


def test_without_a_file_left_for_its_channel_the_limit_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(subprocess, "Popen", refuse)

    with pytest.raises(BadInput, match="worker 3 cannot be started: Too many open files") as refused:
        in_a_process(3)

    assert refused.value.code == "open_files_too_few"
