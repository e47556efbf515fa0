"""Keeping a cell cold where the study says cold, and saying so only where it was shown."""

import asyncio
from pathlib import Path

from whichbits.serve.arm import RunningArm
from whichbits.serve.endpoint.replica import Replica
from whichbits.study.model import CachePolicy

_LOGGED = "uccessfully reset prefix cache"
_REFUSED = "Failed to reset prefix cache because some blocks"
_LOG_SECONDS = 0.5
_LOG_PAUSE_SECONDS = 0.02


async def make_cold(policy: CachePolicy, running: RunningArm) -> str:
    """Bring every replica's prefix cache to the state that the policy asks for; return the state in words.

    ``salted``: prompts that no earlier cell sent. ``reset``: every replica confirmed a reset, by its answer or, where
    that is empty (vLLM before 0.32), in its log. ``restarted``: a fresh server. ``primed``: the caller sends the cell's
    own prompts before it. ``unverified: ...``: a reset that was not confirmed.
    """
    if policy != "reset":
        return {"salt": "salted", "restart": "restarted", "warm": "primed"}[policy]
    if running.cache_reset_path is None:
        return "unverified: this engine has no way to empty its cache"
    refusals = [await _refusal(replica, running.cache_reset_path) for replica in running.fleet.replicas]
    unconfirmed = [refusal for refusal in refusals if refusal is not None]
    return f"unverified: {'; '.join(unconfirmed)}" if unconfirmed else "reset"


async def _refusal(replica: Replica, path: str) -> str | None:
    """Ask one replica for an empty cache; return what it said instead of a confirmation."""
    log = None if replica.log is None else Path(replica.log)
    start = _size(log)
    answer = await replica.control.reset_prefix_cache(path)
    said = f"{replica.name} answered {answer.status} {answer.body[:80]!r}"
    if answer.succeeded is not None or log is None or start is None:
        return None if answer.succeeded else said
    written = await _written_since(log, start)
    if _REFUSED in written:
        return f"{said}, and its log says that it failed because blocks were still in use"
    return None if _LOGGED in written else said


async def _written_since(log: Path, start: int) -> str:
    """Return what the log gained, as soon as it tells how the reset went; some versions answer before they do it."""
    for _ in range(round(_LOG_SECONDS / _LOG_PAUSE_SECONDS)):
        written = _tail(log, start)
        if _REFUSED in written or _LOGGED in written:
            return written
        await asyncio.sleep(_LOG_PAUSE_SECONDS)
    return _tail(log, start)


def _tail(log: Path, start: int) -> str:
    try:
        with log.open("rb") as written:
            written.seek(start)
            return written.read().decode(errors="replace")
    except OSError:
        return ""


def _size(log: Path | None) -> int | None:
    """Return the log's length; None where it is not a file that can be read here."""
    try:
        return None if log is None or not log.is_file() else log.stat().st_size
    except OSError:
        return None
