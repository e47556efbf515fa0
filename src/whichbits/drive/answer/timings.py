"""What llama.cpp's server counted for a request: its ``timings``, sent with the last chunk or with every one."""

import msgspec

from whichbits.drive.answer.sse import split_events


class Timings(msgspec.Struct):
    """Tokens so far. ``prompt_n`` leaves the cached ones out; builds before ``cache_n`` do not tell how many."""

    prompt_n: int | None = None
    cache_n: int | None = None
    predicted_n: int | None = None

    @property
    def prompt_tokens(self) -> int | None:
        """The whole prompt, if it is known how much of it was cached."""
        return None if self.prompt_n is None or self.cache_n is None else self.prompt_n + self.cache_n


class _Timed(msgspec.Struct):
    timings: Timings | None = None


_timed = msgspec.json.Decoder(_Timed)


def last_timings(body: bytes) -> Timings:
    """Return the last timings in a stream; without any, all is unknown."""
    if b'"timings"' not in body:
        return Timings()
    for event in reversed(split_events(body)):
        try:
            timings = _timed.decode(event.data).timings
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
        if timings is not None:
            return timings
    return Timings()
