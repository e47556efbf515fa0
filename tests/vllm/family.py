"""The processes that a running tool started. vLLM renames its own, over their environment: marks are lost there."""

import psutil

from tests.e2e.tool import Tool, eventually
from whichbits.serve.process import leash


def descendants(running: Tool) -> list[int]:
    """Return the pids of everything below the tool."""
    return [process.pid for process in psutil.Process(running.pid).children(recursive=True)]


def still_alive(pids: list[int]) -> list[int]:
    """Wait until all have ended; return those that do not."""
    try:
        eventually(lambda: not _living(pids))
    except TimeoutError:
        return _living(pids)
    return []


def engine_core(running: Tool, replica: int) -> psutil.Process:
    """Return a replica's engine core: below the leash that was started for it, in the order of the replicas."""
    children = sorted(psutil.Process(running.pid).children(), key=lambda process: process.create_time())
    # The client's workers and the watch over /metrics are children, too.
    leashes = [process for process in children if leash.__file__ in process.cmdline()]
    family = leashes[replica].children(recursive=True)
    (found,) = [process for process in family if "EngineCore" in " ".join(process.cmdline())]
    return found


def _living(pids: list[int]) -> list[int]:
    return [pid for pid in pids if _lives(pid)]


def _lives(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
