"""Only a loopback address is this machine's own; a name is, if at all, localhost."""

import socket

import pytest

from whichbits.errors import BadInput
from whichbits.hardware.loopback import insist_on_host, is_loopback


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "::1", "localhost", "LOCALHOST"])
def test_loopback_is_ours(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["", "0", "0.0.0.0", "::", "10.0.0.1", "fe80::1", "box.example", "127.0.0.1.example"])
def test_everything_else_is_reachable(host: str) -> None:
    assert not is_loopback(host)


@pytest.mark.parametrize("resolved", [[], ["10.0.0.7"], ["127.0.0.1", "10.0.0.7"]])
def test_localhost_is_ours_only_where_it_is_nothing_else(resolved: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def resolve(*_: object, **__: object) -> list[tuple[object, ...]]:
        if not resolved:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 0)) for address in resolved]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)

    assert not is_loopback("localhost")


def test_a_name_is_not_ours_whatever_it_resolves_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: pytest.fail("it resolves to what its owner wants"))

    assert not is_loopback("rebound.example")


@pytest.mark.parametrize("host", ["", "  "])
def test_an_empty_host_is_refused_and_says_by_which_option(host: str) -> None:
    with pytest.raises(BadInput) as raised:
        insist_on_host(host, "--host")
    assert raised.value.code == "host_empty"
    assert "--host" in raised.value.what
    assert insist_on_host("0.0.0.0", "--host") == "0.0.0.0"
