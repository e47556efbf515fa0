"""Which traffic can be played in virtual time, and which is refused rather than played without what it shares."""

from whichbits.errors import BadInput
from whichbits.study.model import Study
from whichbits.study.recorded_traffic import TraceTraffic
from whichbits.traffic.replay import origin_of
from whichbits.traffic.trace import has_blocks


def refuse_unplayable(study: Study) -> None:
    """Raise BadInput, ``traffic_not_predicted``, for traces whose prompts share blocks by hash.

    The simulated cache knows one shared prefix a request and what its session sent before; hashes share more, and a
    play without it would predict prefills that no server does.
    """
    traffic = origin_of(study.traffic)
    if isinstance(traffic, TraceTraffic) and has_blocks(traffic):
        raise BadInput(
            "traffic_not_predicted",
            "a trace whose prompts share blocks cannot be played in virtual time",
            why="the simulated prefix cache knows one shared prefix a request, and what its session sent before",
            fix="measure this traffic, or predict one of another kind",
        )
