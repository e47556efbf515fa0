"""What is sent: every kind of traffic that a study can name."""

from typing import Annotated

from pydantic import Field

from whichbits.study.arrivals import AnyArrivals, TraceArrivals
from whichbits.study.drawn_traffic import (
    ChatTraffic,
    PrefixRepetitionTraffic,
    RandomTraffic,
    SessionsTraffic,
    SharedPromptTraffic,
)
from whichbits.study.recorded_traffic import JsonlTraffic, RunTraffic, ShareGptTraffic, TraceTraffic
from whichbits.study.request import RequestForm

AnyTraffic = (
    ChatTraffic
    | PrefixRepetitionTraffic
    | RandomTraffic
    | SharedPromptTraffic
    | SessionsTraffic
    | ShareGptTraffic
    | JsonlTraffic
    | TraceTraffic
    | RunTraffic
)
Traffic = Annotated[AnyTraffic, Field(discriminator="kind")]


def shared_prefix_tokens(traffic: AnyTraffic) -> int:
    """Return how long the prefixes are that a request's ``prefix`` counts; 0 where none are."""
    match traffic:
        case PrefixRepetitionTraffic():
            return traffic.prefix_tokens
        case SharedPromptTraffic():
            return traffic.shared_tokens
        case _:
            return 0


def misfit(traffic: AnyTraffic, arrivals: AnyArrivals, request: RequestForm, *, searches: bool) -> str | None:
    """Return what does not go with the traffic, or None; ``searches`` if the study decides its loads or repeats."""
    if isinstance(traffic, ShareGptTraffic) and request.prompt != "text":
        return "sharegpt traffic is words: set request: {prompt: text}"
    if isinstance(traffic, RunTraffic) and searches:
        return "traffic of a run is replayed at the run's own loads: name them, and the repeats"
    if isinstance(arrivals, TraceArrivals) and arrivals.speed is not None and has_turns(traffic):
        return "a trace's own times say nothing of a session's later turns: leave speed out"
    if isinstance(arrivals, TraceArrivals) and arrivals.path is None and not isinstance(traffic, TraceTraffic):
        return "arrivals of kind trace need a path, unless the traffic is a trace itself"
    return None


def has_turns(traffic: AnyTraffic) -> bool:
    """Say whether requests follow others as the turns of a session."""
    return isinstance(traffic, SessionsTraffic) or (isinstance(traffic, ShareGptTraffic) and traffic.turns == "all")
