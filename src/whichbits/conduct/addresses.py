"""Where the traffic of a running arm goes."""

from whichbits.drive.target import Target
from whichbits.serve.arm import RunningArm


def targets(running: RunningArm) -> tuple[Target, ...]:
    """Return where the traffic of an arm goes."""
    return tuple(
        Target(replica.host, replica.port, replica.model, replica.api_path, replica=replica.name)
        for replica in running.replicas
    )
