"""Keeping a cell cold where the study says cold, and saying so only where it was shown."""

from whichbits.serve.arm import RunningArm
from whichbits.study.model import CachePolicy


async def make_cold(policy: CachePolicy, running: RunningArm) -> str:
    """Bring every replica's prefix cache to the state that the policy asks for; return the state in words.

    ``salted``: prompts that no earlier cell sent. ``reset``: every replica confirmed a reset. ``restarted``: a fresh
    server. ``primed``: the caller sends the cell's own prompts before it. ``unverified: ...``: a reset that was
    not confirmed.
    """
    if policy != "reset":
        return {"salt": "salted", "restart": "restarted", "warm": "primed"}[policy]
    if running.cache_reset_path is None:
        return "unverified: this engine has no way to empty its cache"
    replicas = running.fleet.replicas
    answers = [await replica.control.reset_prefix_cache(running.cache_reset_path) for replica in replicas]
    refused = [
        f"{replica.name} answered {answer.status} {answer.body[:80]!r}"
        for replica, answer in zip(replicas, answers, strict=True)
        if not answer.succeeded
    ]
    return f"unverified: {'; '.join(refused)}" if refused else "reset"
