"""What a cell will send, decided before anything is sent and equal for every arm."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PlannedRequest:
    """One request to come. ``offset_ns`` is its scheduled send after the cell's start; None in a closed loop."""

    index: int
    prompt: tuple[int, ...]
    output_tokens: int
    offset_ns: int | None
    prefix: int | None = None
