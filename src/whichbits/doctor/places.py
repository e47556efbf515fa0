"""Where the servers of an arm would be: the cards that they get, and the share of a card that each takes."""

from collections import Counter

from whichbits.predict.deployment.engine_version import EngineVersion
from whichbits.study.arm import Arm
from whichbits.study.gpus import share_among, shares


def servers_by_gpu(arm: Arm) -> Counter[int]:
    """Return how many of the arm's servers each of its cards has."""
    each = arm.tensor_parallel_size or 1
    gpus = arm.gpus or tuple(range(arm.replicas * each))
    return Counter(gpu for share in shares(gpus, arm.replicas, each) for gpu in share)


def share_of_card(arm: Arm, version: str | None) -> float:
    """Return the share of a card that a server asks for: as the arm says, or vLLM's own, or its part among replicas."""
    if arm.gpu_memory_utilization is not None:
        return arm.gpu_memory_utilization
    servers = max(servers_by_gpu(arm).values())
    return EngineVersion.of(version).default_memory_share if servers == 1 else share_among(servers)
