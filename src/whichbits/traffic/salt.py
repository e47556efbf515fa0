"""What keeps words from being found in a cache that another cell filled: a line in front that only one cell has."""

from hashlib import sha256

from whichbits.traffic.asked import Asked

_DIGITS = 16


def salt(asked: Asked, lap: int) -> str:
    """Return the line for one cell, and for one lap through its file: always as long, 16 hexadecimal digits.

    It is the same for all requests of a lap, so that what they share among each other they go on sharing.
    """
    name = "/".join(map(str, (asked.study.seed, "salt", asked.load, "repeat", asked.repeat, "lap", lap)))
    return sha256(name.encode()).hexdigest()[:_DIGITS] + "\n"
