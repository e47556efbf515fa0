"""What is sent: every kind of traffic that a study can name."""

from typing import Annotated

from pydantic import Field

from whichbits.study.drawn_traffic import (
    ChatTraffic,
    PrefixRepetitionTraffic,
    RandomTraffic,
    SessionsTraffic,
    SharedPromptTraffic,
)
from whichbits.study.recorded_traffic import JsonlTraffic, RunTraffic, ShareGptTraffic, TraceTraffic

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
