"""Whether an arm's servers still serve after something failed, and if not, what they died of."""

import time

from whichbits.errors import ServerNotReady
from whichbits.serve.arm import Replica, RunningArm
from whichbits.serve.ready import wait_until_ready

_PATIENCE_S = 10.0
"""A port closes, or an engine dies, moments before its process is gone and its log complete."""


async def cause_of_death(running: RunningArm) -> ServerNotReady | None:
    """Return why a server of ``running`` has ended or hangs; None if all answer their health check."""
    for replica in running.replicas:
        lived_s = (time.monotonic_ns() - replica.process.started_ns) / 1e9
        try:
            await wait_until_ready(
                replica.process,
                replica.control.url,
                within_seconds=lived_s + _PATIENCE_S,
                failure=running.engine.failure,
            )
        except ServerNotReady as unhealthy:
            return running.death() or _hang(replica, unhealthy)
    return None


def _hang(replica: Replica, unhealthy: ServerNotReady) -> ServerNotReady:
    return ServerNotReady(
        "server_hangs",
        "the server runs, but no longer answers its health check",
        why=unhealthy.why,
        fix=f"read its log: {replica.process.log}",
    )
