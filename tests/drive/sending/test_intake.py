"""Since when what a sleep ended with may have lain there."""

import time

import pytest

from whichbits.drive.sending.intake import NEVER_NS, Intake

ASKED_NS = 500_000_000


class Sleepy:
    """An epoll whose sleep takes so long, whatever was asked."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def poll(self, timeout: float, most: int) -> list[tuple[int, int]]:
        time.sleep(self._seconds)
        return []


class Nobody:
    """Keeps no exchanges."""


@pytest.mark.parametrize(("seconds", "lay_there"), [(0.0, False), (0.6, True)])
def test_what_ends_a_sleep_has_just_come_unless_nobody_was_woken_for_it(seconds: float, lay_there: bool) -> None:
    """A process that is stopped, or has no core, sleeps on; chunks that merge then are its own doing."""
    intake = Intake(Sleepy(seconds), {}, Nobody())  # type: ignore[arg-type]
    began_ns = time.monotonic_ns()

    since_ns = intake._sleep(began_ns + ASKED_NS)

    if lay_there:
        assert began_ns <= since_ns < began_ns + ASKED_NS
    else:
        assert since_ns == NEVER_NS
