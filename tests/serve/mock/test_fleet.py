"""Mocks in processes of their own: they listen when they are announced, and end with whoever started them."""

import signal
import socket
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.serve.mock.wire import Mock
from whichbits.errors import ServerNotReady
from whichbits.serve.mock.fleet import mocks
from whichbits.serve.mock.settings import MockSettings


def at(url: str) -> Mock:
    return Mock(int(url.rpartition(":")[2]))


def test_each_has_a_port_of_its_own_and_all_end() -> None:
    before = set(psutil.Process().children())
    with mocks([0, 0], MockSettings(model="twin")) as urls:
        assert len(set(urls)) == 2
        for url in urls:
            assert at(url).ask("/v1/models").json["data"][0]["id"] == "twin"

    assert set(psutil.Process().children()) <= before


def test_a_port_that_is_taken_is_said_so() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        started = mocks([taken.getsockname()[1]], MockSettings())
        with pytest.raises(ServerNotReady) as refused, started:
            pass

    assert refused.value.code == "mock_not_listening"
    assert "in use" in refused.value.why


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_command_prints_its_address_and_ends_in_order(number: signal.Signals, tmp_path: Path) -> None:
    truth = tmp_path / "truth.json"
    code = "import sys; from whichbits.cli import main; main(sys.argv[1:])"
    command = [sys.executable, "-c", code, "mock", "--port", "0", "--itl-ms", "1", "--truth", str(truth)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert at(process.stdout.readline().strip()).complete(tokens=2).status == 200
        process.send_signal(number)
        said, complained = process.communicate(timeout=60)

    assert (process.returncode, said, complained) == (0, "", "")
    assert '"outcome":"done"' in truth.read_text(encoding="utf-8")
