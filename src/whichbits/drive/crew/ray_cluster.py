"""Joining a Ray cluster: quietly, with its errors in one sentence, and only where a study asks for it."""

import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from whichbits.drive.crew.hire import Hired
from whichbits.drive.crew.ray_hire import Site, in_an_actor, no_room
from whichbits.errors import BadInput, ClientFailed
from whichbits.language.amounts import amount

_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".",  # its news of nodes would go to stdout, where --json has the answer
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_py_gcs_connect_timeout_s": "5",
    "RAY_gcs_rpc_server_connect_timeout_s": "2",
}
"""No telemetry, no chatter, no warnings of what changes one day; and a cluster that is gone is not waited for two
minutes. What the user's environment says goes first."""

_REACH_SECONDS = 5.0


class RayCluster:
    """A cluster that this process has joined."""

    def __init__(self) -> None:
        """Join first; see ``joined``."""
        import ray

        context = ray.get_runtime_context()
        self._site = Site(ray.util.get_node_ip_address(), context.get_node_id())

    def hire(self, number: int) -> Hired:
        """Bring up a worker on the machine that has most room; ClientFailed if it does not come."""
        return in_an_actor(number, self._site)

    def refuse_more_than_cores(self, workers: int) -> None:
        """Raise ClientFailed if the cluster has fewer cores than ``workers``."""
        if workers > self._cores():
            raise no_room(f"client.workers is {workers}, but the Ray cluster has {amount(self._cores(), 'core')}")

    def spare_cores(self) -> int:
        """Return the cores that workers may have: one is left for the lead, unless there is no other."""
        return max(1, self._cores() - 1)

    @staticmethod
    def _cores() -> int:
        import ray

        return int(ray.cluster_resources().get("CPU", 0))


def refuse_without_ray() -> None:
    """Raise BadInput if Ray is not installed."""
    if find_spec("ray") is None:
        raise BadInput(
            "ray_missing",
            "client.ray spreads workers over a Ray cluster, but Ray is not installed",
            why="it is large, so it comes with the extra `ray` only",
            fix="pip install 'whichbits[ray]' here and on every machine of the cluster, or leave client.ray out",
        )


@contextmanager
def joined(address: str) -> Iterator[RayCluster]:
    """Join the cluster for the block's time; one that this process has joined already is used and not left."""
    refuse_without_ray()
    with _quiet_environment():  # some of it is read on import
        import ray

    if ray.is_initialized():
        yield RayCluster()
        return
    try:
        _join(address)
        yield RayCluster()
    finally:
        ray.shutdown()


def _join(address: str) -> None:
    import ray

    known = os.environ.get("RAY_ADDRESS") or "auto" if address == "auto" else address
    try:
        _reach(known)
        with _quiet_environment(), _own_signals():
            ray.init(known, log_to_driver=False, logging_level="CRITICAL", configure_logging=True)
    except Exception as error:
        raise ClientFailed(
            "ray_unreachable",
            f"the Ray cluster {known!r} cannot be joined: {_first_line(error)}",
            why="no cluster runs there, a port is closed, or it has another version of Ray or of Python",
            fix="run `ray status` on this machine, which must be a member: `ray start --head` on one machine, then "
            "`ray start --address=HEAD:6379` on each, with the same Ray, Python and whichbits",
        ) from error


def _reach(address: str) -> None:
    """Find out at once that nobody listens; Ray would try for a while, and talk."""
    if address != "auto":
        host, _, port = address.rpartition(":")
        socket.create_connection((host, int(port)), _REACH_SECONDS).close()


@contextmanager
def _quiet_environment() -> Iterator[None]:
    """Set what Ray reads when it is joined, and leave no trace for the servers that we start."""
    added = {name: value for name, value in _QUIET.items() if name not in os.environ}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)


@contextmanager
def _own_signals() -> Iterator[None]:
    """Keep our handler of SIGTERM: Ray's would leave in the middle of a cell."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before: Any = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__
