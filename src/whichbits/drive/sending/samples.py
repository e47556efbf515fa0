"""A bounded sample of a long series of numbers."""

_MOST = 8192


class Samples:
    """Every n-th of the numbers it is given, n doubling whenever the room is full: even over time, and repeatable."""

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._stride = 1
        self._skipped = 0
        self._kept: list[int] = []

    def add(self, value: int) -> None:
        self._skipped += 1
        if self._skipped < self._stride:
            return
        self._skipped = 0
        self._kept.append(value)
        if len(self._kept) >= self._most:
            self._kept = self._kept[1::2]
            self._stride *= 2

    def kept(self) -> tuple[int, ...]:
        return tuple(self._kept)
