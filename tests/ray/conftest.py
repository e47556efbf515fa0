"""A Ray cluster of two machines, both on the loopback interface."""

import os
import sys
from collections.abc import Iterator
from functools import partialmethod
from pathlib import Path
from typing import Any

import pytest

ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_worker_niceness": "0",  # by itself Ray starts its workers at 15, which a busy machine hardly serves
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # Ray's own switch for staying on 127.0.0.1, whatever its name says
    "PYTHONPATH": os.pathsep.join(str(Path(__file__).parents[2] / part) for part in ("src", ".")),
    "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
}

_PATIENCE_S = 300
"""Ray's own cluster for tests gives a node half a minute to come."""


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    """Two nodes of one core each; ``address`` is the head's. Nobody has joined."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in ENVIRONMENT.items():
            patch.setenv(name, value)
        from ray.cluster_utils import Cluster

        patch.setattr(Cluster, "_wait_for_node", partialmethod(Cluster._wait_for_node, timeout=_PATIENCE_S))
        nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
        nodes.add_node(num_cpus=1, include_dashboard=False)
        yield nodes
        nodes.shutdown()
