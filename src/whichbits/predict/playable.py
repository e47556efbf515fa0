"""Which traffic can be played in virtual time, and which is refused rather than played without what it shares."""

from whichbits.errors import BadInput
from whichbits.study.drawn_traffic import SessionsTraffic
from whichbits.study.model import Study
from whichbits.study.recorded_traffic import ShareGptTraffic, TraceTraffic
from whichbits.study.traffic import AnyTraffic
from whichbits.traffic.replay import origin_of
from whichbits.traffic.trace import has_blocks


def refuse_unplayable(study: Study) -> None:
    """Raise BadInput, ``traffic_not_predicted``, for sessions and for traces whose prompts share blocks by hash.

    The simulated cache knows one shared prefix a request; sessions and hashes share more, and a play without it would
    predict prefills that no server does.
    """
    found = _what_is_shared(origin_of(study.traffic))
    if found is not None:
        raise BadInput(
            "traffic_not_predicted",
            f"{found} cannot be played in virtual time",
            why="the simulated prefix cache knows one shared prefix a request, and its client no later turns",
            fix="measure this traffic, or predict one of kind chat, random, shared_prompt or prefix_repetition",
        )


def _what_is_shared(traffic: AnyTraffic) -> str | None:
    match traffic:
        case SessionsTraffic() | ShareGptTraffic(turns="all"):
            return "sessions of several turns"
        case TraceTraffic() if has_blocks(traffic):
            return "a trace whose prompts share blocks"
        case _:
            return None
