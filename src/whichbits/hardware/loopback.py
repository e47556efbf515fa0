"""Which hosts only this machine reaches: whoever listens anywhere else lets others in."""

import socket
from ipaddress import ip_address

from whichbits.errors import BadInput

_OWN_NAME = "localhost"


def is_loopback(host: str) -> bool:
    """Say whether only this machine reaches a host: a loopback address, or localhost where it is nothing else.

    Any other name counts as reachable, whatever it resolves to now: it may resolve to something else a moment later.
    """
    if host.lower() == _OWN_NAME:
        return all(_is_own(address) for address in _addresses(host))
    return _is_own(host)


def insist_on_host(host: str, option: str) -> str:
    """Return the host to listen at, which ``option`` gives.

    Raises:
        BadInput: ``host_empty``, which sockets would take for every interface of the machine.
    """
    if host.strip():
        return host
    raise BadInput(
        "host_empty",
        f"{option} is empty",
        why="an empty host would listen at every interface of this machine, as 0.0.0.0 and :: do",
        fix=f"leave {option} out for 127.0.0.1, or name the address that others may reach",
    )


def _is_own(address: str) -> bool:
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False


def _addresses(host: str) -> set[str]:
    """Return what a name resolves to; itself, which is no address, where it resolves to nothing."""
    try:
        return {str(place[0]) for *_, place in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)}
    except OSError:
        return {host}
