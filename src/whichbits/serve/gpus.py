"""Which replica runs where: a free port for each, and its share of the GPUs."""

from collections import Counter

from whichbits.serve.engine import Place
from whichbits.serve.process.server import free_ports
from whichbits.study.arm import Arm
from whichbits.study.gpus import shares


def places(arm: Arm, host: str) -> tuple[Place, ...]:
    """Return a place a replica. Its GPUs follow each other in ``arm.gpus``, from the start again when they run out.

    Without ``gpus``, one replica sees what the environment lets it see; several get a GPU each (or as many as
    ``tensor_parallel_size`` says), counted from 0.
    """
    per_replica = arm.tensor_parallel_size or 1
    ports = free_ports(arm.replicas, host)
    if arm.gpus is None and arm.replicas == 1:
        return (Place(host, ports[0]),)
    gpus = tuple(range(arm.replicas * per_replica)) if arm.gpus is None else arm.gpus
    found = shares(gpus, arm.replicas, per_replica)
    crowd = Counter(gpu for share in found for gpu in share)
    return tuple(
        Place(host, port, share, max(crowd[gpu] for gpu in share)) for port, share in zip(ports, found, strict=True)
    )
