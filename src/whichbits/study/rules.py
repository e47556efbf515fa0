"""The rules by which arms are measured: size of a cell, warm-up, what a good request is, a profile, when to give up."""

from pydantic import Field, PositiveFloat, PositiveInt

from whichbits.study.load import Load
from whichbits.study.strict import Strict


class CellSize(Strict):
    """How many requests a cell sends: ``requests``, or a number per stream between two bounds."""

    requests: PositiveInt | None = Field(default=None, description="Exactly this many, whatever the load.")
    per_stream: PositiveInt = Field(default=4, description="Requests per concurrent stream.")
    at_least: PositiveInt = Field(default=16, description="Never fewer requests, unless requests says so.")
    at_most: PositiveInt = Field(default=1000, description="Never more requests, unless requests says so.")
    seconds: PositiveFloat = Field(default=30.0, description="With a request rate: rate x this many requests.")


class WarmUp(Strict):
    """Traffic before the first cell of an arm; it stops when the arm's own step time is stable."""

    at_least_requests: PositiveInt = Field(default=4, description="Requests of a round, all in flight at once.")
    at_most_requests: PositiveInt = Field(default=64, description="Give up after these; two rounds are always sent.")
    stable_within: PositiveFloat = Field(default=0.1, description="Relative change between two rounds.")


class Slo(Strict):
    """Bounds that a single request must hold jointly to be good."""

    ttft_ms: PositiveFloat | None = Field(default=None, description="Longest TTFT, from the scheduled send.")
    tpot_ms: PositiveFloat | None = Field(default=None, description="Longest time per output token.")
    e2e_ms: PositiveFloat | None = Field(default=None, description="Longest time to the last token.")


class ProfileWindow(Strict):
    """A short window under the engine's profiler, in traffic that is not measured; `true` takes the defaults."""

    loads: tuple[Load, ...] | None = Field(
        default=None, description="Loads to profile, of those above; the lowest and the highest where none is given."
    )
    seconds: PositiveFloat = Field(default=2.0, le=60, description="Length of the window; traces grow with it.")


class Limits(Strict):
    """When to give up."""

    ready_seconds: PositiveFloat = Field(default=600.0, description="Longest start of a server.")
    request_seconds: PositiveFloat = Field(default=300.0, description="Longest answer, from the send.")
    silence_seconds: PositiveFloat = Field(default=120.0, description="Longest wait between two reads.")
    failed_share: float = Field(default=0.0, ge=0, le=1, description="More failures than this share: exit 4.")
