"""A mock in this process: its listener, its signals, its address on stdout."""

import gc
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from whichbits.serve.mock.engine.desk import Desk
from whichbits.serve.mock.http.server import MockServer, listen
from whichbits.serve.mock.settings import MockSettings


def serve(
    host: str, port: int, settings: MockSettings, *, with_owner: bool = False, truth_file: Path | None = None
) -> None:
    """Serve until SIGINT or SIGTERM, or until stdin ends if the mock has an owner; then write the truth, if asked.

    Raises:
        OSError: the address cannot be listened at, or the file cannot be written.
    """
    desk = Desk(settings)
    listener = listen(host, port)
    server = MockServer(listener, desk)
    if with_owner:
        server.stop_when_closed(sys.stdin.fileno())
    sys.stdout.write(f"{address(host, listener.getsockname()[1])}\n")
    sys.stdout.flush()
    with _stopping(server), _no_garbage_collection():
        server.run()
    if truth_file is not None:
        truth_file.write_bytes(desk.truth.page())


def address(host: str, port: int) -> str:
    """Return where a mock listens, as clients write it."""
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


@contextmanager
def _stopping(server: MockServer) -> Iterator[None]:
    """Let signals end the server in order while this lasts."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        server.stop()

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Nothing here is cyclic for long, and a full collection takes as long as many tokens."""
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.unfreeze()
