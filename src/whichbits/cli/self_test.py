"""``whichbits load --self-test``: this machine's honest limit."""

import math
import os
import sys
from functools import partial

import msgspec
import uvloop
from rich.console import Console

from whichbits.conduct.self_test.drive import drive_rung, room_for_streams
from whichbits.conduct.self_test.ladder import MOST_STREAMS, SECONDS, Ladder, climb
from whichbits.conduct.self_test.result import as_object, verdicts_right
from whichbits.drive.crew.crew import Crew
from whichbits.errors import BadInput, ClientLimited
from whichbits.language.language import Language
from whichbits.report.progress.self_test import print_heading, print_result, print_rung

_CORES_PER_MOCK = 2
_MOST_MOCKS = 8


def run_self_test(seconds: float | None, *, json: bool, spoken: Language) -> int:
    """Climb, print each rung as it comes, and return 0, or 6 if the client called itself good where it was not."""
    if seconds is not None and not 0 < seconds < math.inf:
        raise BadInput(
            "self_test_seconds",
            f"a self-test cannot last {seconds:g} s",
            why="--seconds is about how long it lasts",
            fix=f"leave it out for {SECONDS:g}",
        )
    console = Console(stderr=json)
    cores = len(os.sched_getaffinity(0))
    ladder = Ladder(
        seconds or SECONDS,
        most_streams=min(MOST_STREAMS, room_for_streams()),
        processes=min(max(1, cores // _CORES_PER_MOCK), _MOST_MOCKS),
    )
    print_heading(console, spoken)
    with Crew() as crew:
        drive = partial(drive_rung, crew=crew)
        climbs = uvloop.run(climb(ladder, drive, lambda rung: print_rung(rung, console, spoken)))
    print_result(climbs, console, spoken)
    if json:
        sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(as_object(climbs)), indent=2) + b"\n")
        sys.stdout.flush()
    return 0 if verdicts_right(climbs) else ClientLimited.exit_code
