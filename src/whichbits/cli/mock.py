"""``whichbits mock``: a paced fake server with exact token times."""

import signal
import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from whichbits.errors import BadInput, ServerNotReady
from whichbits.hardware.loopback import insist_on_host
from whichbits.language.amounts import amount
from whichbits.serve.mock.fleet import mocks
from whichbits.serve.mock.serve import serve
from whichbits.serve.mock.settings import MockSettings

_LAST_PORT = 65_535


def mock(
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    processes: int = 1,
    truth: Path | None = None,
    settings: Annotated[MockSettings, Parameter(name="*")] = MockSettings(),  # noqa: B008 - it is frozen
) -> int:
    """Serve an OpenAI-style API that generates nothing, at exactly the times that it is told.

    The true time of every send is at /truth; docs/mock.md explains every option. Ctrl-C ends it.

    Args:
        host: Address to listen at.
        port: Port to listen at; 0 takes one that is free. The address is printed on stdout once it listens.
        processes: Mocks, each a process with a port of its own from PORT on.
        settings: How it answers.
        truth: Write what /truth tells into this file at the end.
    """
    insist_on_host(host, "--host")
    if processes < 1 or not 0 <= port <= _LAST_PORT - processes:
        raise BadInput(
            "mock_ports",
            f"{amount(processes, 'mock')} cannot listen from port {port} on",
            why="each process needs a port of its own, from 1 to 65535",
            fix="give a smaller --port or fewer --processes",
        )
    if processes == 1:
        return _one(host, port, settings, truth)
    if truth is not None:
        raise BadInput(
            "mock_truth_of_several",
            "--truth goes with one process",
            why="each process keeps a truth of its own",
            fix="fetch /truth of each address",
        )
    return _several(host, [port + place if port else 0 for place in range(processes)], settings)


def _one(host: str, port: int, settings: MockSettings, truth: Path | None) -> int:
    try:
        serve(host, port, settings, truth_file=truth)
    except OSError as error:
        raise ServerNotReady(
            "mock_not_listening",
            f"the mock ended: {error.strerror or error}",
            why=f"{host}:{port} is taken or not an address of this machine, or --truth cannot be written",
            fix="give a free --port, an address of this machine, a file in a folder of yours",
        ) from error
    return 0


def _several(host: str, ports: list[int], settings: MockSettings) -> int:
    numbers = (signal.SIGINT, signal.SIGTERM)
    with mocks(ports, settings, host) as addresses:
        # Only now: a process inherits what its parent blocks.
        signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
        try:
            sys.stdout.write("".join(f"{address}\n" for address in addresses))
            sys.stdout.flush()
            signal.sigwait(numbers)
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, numbers)
    return 0
