"""The soft limit of open files goes up as far as it is asked to and may, and never down."""

import resource
from collections.abc import Iterator

import pytest

from whichbits.hardware.open_files import OpenFiles, open_files, raise_soft_limit


@pytest.fixture
def hard() -> Iterator[int]:
    """Set a soft limit of 256 until the test ends."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, before[1]))
    yield before[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_it_is_raised_as_far_as_asked_or_allowed(hard: int) -> None:
    assert raise_soft_limit(300) == OpenFiles(300, hard)
    assert raise_soft_limit(hard + 1) == OpenFiles(hard, hard)


def test_without_a_wish_it_is_raised_as_far_as_allowed(hard: int) -> None:
    assert raise_soft_limit() == OpenFiles(hard, hard)


def test_it_is_never_lowered(hard: int) -> None:
    assert raise_soft_limit(100) == OpenFiles(256, hard)


def test_no_limit_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (80, resource.RLIM_INFINITY))

    assert open_files() == OpenFiles(80, None)
    assert open_files().room_for(10**9)


def test_what_the_system_refuses_stays(monkeypatch: pytest.MonkeyPatch, hard: int) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    with monkeypatch.context() as patch:
        patch.setattr(resource, "setrlimit", refuse)
        assert raise_soft_limit(300) == OpenFiles(256, hard)
