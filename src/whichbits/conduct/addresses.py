"""Where the traffic of a running arm goes."""

from whichbits.drive.target import Target
from whichbits.serve.arm import RunningArm


def targets(running: RunningArm) -> tuple[Target, ...]:
    """Return where the traffic of an arm goes."""
    return tuple(
        Target(each.host, each.port, each.model, each.path, api_key=each.api_key, tls=each.tls, replica=each.replica)
        for each in running.fleet.endpoints
    )
