"""A worker as a Ray actor on any machine of a cluster; it serves a TCP channel to the lead, as a process a socket.

Ray places it, starts it and knows how it ended. What a cell says goes over the channel, not through Ray: a call of an
actor takes most of a millisecond, a message and its answer a thirtieth of that.
"""

import os
import secrets
import socket
import struct
import time
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection, answer_challenge, deliver_challenge
from typing import Any

from whichbits.drive.crew.hire import Hired
from whichbits.drive.crew.service import GONE, serve
from whichbits.errors import ClientFailed

_COME_SECONDS = 60.0
"""From asking Ray for an actor until it calls: a fresh machine imports from a cold disk, and may be busy."""
_LEAVE_SECONDS = 2.0
_CALL_SECONDS = 5
"""Whoever opens a connection has so long to prove that it is our worker."""
_SILENCE_SECONDS = 20
"""A machine that lost its power says nothing; the kernel asks in between, and gives up then."""


@dataclass(frozen=True)
class Site:
    """Where the lead is: the address that others reach it at, and its node in Ray's terms."""

    address: str
    node: str


@dataclass(frozen=True)
class _Arrival:
    """What a worker says of itself when it calls."""

    pid: int
    node: str
    address: str
    version: str
    niceness: int


class RayWorker:
    """The actor."""

    def work(self, address: tuple[str, int], key: bytes, niceness: int) -> None:
        """Call the lead, and serve it until it hangs up, with the lead's niceness if the system lets us."""
        import ray

        with suppress(PermissionError):
            os.setpriority(os.PRIO_PROCESS, 0, niceness)
        with socket.create_connection(address, _CALL_SECONDS) as calling:
            calling.settimeout(None)
            channel = _channel(calling)
        with channel:
            answer_challenge(channel, key)
            deliver_challenge(channel, key)
            channel.send(
                _Arrival(
                    os.getpid(),
                    ray.get_runtime_context().get_node_id(),
                    ray.util.get_node_ip_address(),
                    version("whichbits"),
                    _niceness(),
                )
            )
            serve(channel)


def in_an_actor(number: int, site: Site) -> Hired:
    """Have Ray start a worker and wait for its call.

    Raises:
        ClientFailed: the cluster has no core for it, or it failed before it called.
    """
    import ray

    name, key = f"worker {number}", secrets.token_bytes(32)
    with socket.create_server((site.address, 0)) as door:
        actor = ray.remote(RayWorker).options(num_cpus=1, max_restarts=0, scheduling_strategy="SPREAD").remote()
        work = actor.work.remote(door.getsockname(), key, _niceness())
        try:
            channel, arrival = _await_call(door, key, work, name)
        except BaseException:
            ray.kill(actor)
            raise
    if arrival.version != version("whichbits"):
        ray.kill(actor)
        raise _did_not_come(name, f"{arrival.address} has whichbits {arrival.version}, not {version('whichbits')}")
    is_here = arrival.node == site.node
    known_as = name if is_here else f"{name} on {arrival.address}"

    def dismiss() -> None:
        channel.close()
        ray.wait([work], timeout=_LEAVE_SECONDS)
        ray.kill(actor)

    return Hired(
        known_as,
        channel,
        dismiss,
        lambda: _fate(work),
        machine=None if is_here else f"{arrival.address} ({arrival.node[:6]})",
        pid=arrival.pid,
        notes=_handicaps(known_as, arrival),
    )


def _niceness() -> int:
    return os.getpriority(os.PRIO_PROCESS, 0)


def _handicaps(name: str, arrival: _Arrival) -> tuple[str, ...]:
    """Return what makes the worker later than a process of ours would be: Ray starts all of its own at niceness 15."""
    if arrival.niceness <= _niceness():
        return ()
    return (f"{name} runs at niceness {arrival.niceness}: set RAY_worker_niceness=0 where Ray is started",)


def _await_call(door: socket.socket, key: bytes, work: Any, name: str) -> tuple[Connection, _Arrival]:
    door.settimeout(0.1)
    until = time.monotonic() + _COME_SECONDS
    while time.monotonic() < until:
        with suppress(TimeoutError):
            calling, _ = door.accept()
            with calling:
                _limit_reads(calling, _CALL_SECONDS)
                channel = _channel(calling)
            with suppress(*GONE, AuthenticationError):  # a stranger, or somebody who was cut off
                return channel, _arrival(channel, key)
            channel.close()
        if (fate := _fate(work, wait_seconds=0)) is not None:
            raise _did_not_come(name, fate)
    raise _no_room(name)


def _arrival(channel: Connection, key: bytes) -> _Arrival:
    """Prove ourselves to each other before the first object is unpacked."""
    deliver_challenge(channel, key)
    answer_challenge(channel, key)
    arrival: _Arrival = channel.recv()
    with socket.socket(fileno=os.dup(channel.fileno())) as ours:
        _limit_reads(ours, 0)
    return arrival


def _limit_reads(ours: socket.socket, seconds: int) -> None:
    """Let reads of a blocking socket fail after a while; 0 is never. Python's own time limit would not block."""
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", seconds, 0))


def _channel(ours: socket.socket) -> Connection:
    """Make a channel of a TCP socket; small messages leave at once, and a dead machine is noticed."""
    ours.settimeout(None)
    ours.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    ours.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _SILENCE_SECONDS // 4)
    ours.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, _SILENCE_SECONDS // 4)
    ours.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3)
    ours.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _SILENCE_SECONDS * 1000)
    return Connection(ours.detach())


def _fate(work: Any, wait_seconds: float = 0.5) -> str | None:
    """Give an actor that has hung up a moment to end, and say how it did."""
    import ray

    ended, _ = ray.wait([work], timeout=wait_seconds)
    if not ended:
        return None
    try:
        ray.get(work)
    except Exception as error:  # noqa: BLE001 - whatever Ray or the actor raised is its fate
        return f"ended: {_in_short(error)}"
    return "ended"


def _in_short(error: Exception) -> str:
    cause = getattr(error, "cause", None) or error
    lines = [line.strip() for line in str(cause).strip().splitlines() if line.strip()]
    return f"{type(cause).__name__}: {lines[-1] if lines else 'no reason given'}"


def _did_not_come(name: str, fate: str) -> ClientFailed:
    return ClientFailed(
        "ray_worker_failed",
        f"{name} did not start on the Ray cluster: {fate}",
        why="the machine that it was placed on lacks whichbits or has another version, or cannot reach this one",
        fix="install the same whichbits on every machine, and let them open connections to this one",
    )


def _no_room(name: str) -> ClientFailed:
    import ray

    whole, free = (int(each.get("CPU", 0)) for each in (ray.cluster_resources(), ray.available_resources()))
    return no_room(f"{name} got no core within {_COME_SECONDS:g} s: the Ray cluster has {whole}, {free} of them free")


def no_room(what: str) -> ClientFailed:
    """Return the error of a cluster that is too small, or too busy."""
    return ClientFailed(
        "ray_no_room",
        what,
        why="each worker takes a core, and other jobs or other workers have them",
        fix="lower client.workers, add machines, or end other jobs (`ray status`)",
    )
