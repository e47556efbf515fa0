"""What can be known of workers in actors without Ray."""

import os

from whichbits.drive.crew.ray_hire import _Arrival, _handicaps


def arrival(niceness: int) -> _Arrival:
    return _Arrival(1, "node", "10.0.0.2", "0.1.0", niceness)


def test_a_worker_that_gives_way_to_others_is_noted() -> None:
    ours = os.getpriority(os.PRIO_PROCESS, 0)

    assert _handicaps("worker 1", arrival(ours)) == ()
    (note,) = _handicaps("worker 1", arrival(ours + 1))
    assert f"niceness {ours + 1}" in note
