"""Faults to order: what goes wrong with which requests, decided by their number and the seed alone."""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeVar, get_args

from whichbits.errors import BadInput

FaultKind = Literal[
    "status",
    "error",
    "cut",
    "reset",
    "no_done",
    "stall",
    "crlf",
    "comments",
    "no_space",
    "slow_headers",
]
Number = TypeVar("Number", int, float)
_NEEDS_VALUE = ("status", "error", "cut", "reset", "stall", "slow_headers")
_FIRST_STATUS, _LAST_STATUS = 200, 599  # 100 to 199 come before an answer, not instead of it


@dataclass(frozen=True)
class Fault:
    """One kind of fault. ``value`` is the status, the tokens before it, or for slow_headers milliseconds.

    It falls on the requests of the ``numbers`` (counted from 0), or on a ``share`` of all.
    """

    kind: FaultKind
    value: int = 0
    share: float = 1.0
    numbers: tuple[int, ...] | None = None

    def falls_on(self, number: int, seed: int) -> bool:
        """Return whether the request of that number has it."""
        if self.numbers is not None:
            return number in self.numbers
        return self.share >= 1 or random.Random(f"{seed} {self.kind} {self.value} {number}").random() < self.share


@dataclass(frozen=True)
class Faults:
    """The faults of one request, by kind."""

    values: dict[FaultKind, int]

    def get(self, kind: FaultKind) -> int | None:
        """Return a fault's value, None if the request does not have it."""
        return self.values.get(kind)

    def has(self, kind: FaultKind) -> bool:
        """Return whether the request has it."""
        return kind in self.values


NO_FAULTS = Faults({})


def faults_of(ordered: tuple[Fault, ...], number: int, seed: int) -> Faults:
    """Return what goes wrong with one request; of two faults of a kind the last holds."""
    if not ordered:
        return NO_FAULTS
    return Faults({fault.kind: fault.value for fault in ordered if fault.falls_on(number, seed)})


def parse_faults(text: str) -> tuple[Fault, ...]:
    """Read ``KIND[=VALUE][@WHERE]``, several with blanks between; WHERE is ``10%`` or ``3,7``.

    Raises:
        BadInput: that is no fault.
    """
    return tuple(_parse(word) for word in text.split())


def _parse(word: str) -> Fault:
    order, _, where = word.partition("@")
    name, _, value = order.partition("=")
    kind = next((known for known in _kinds() if known == name), None)
    if kind is None or bool(value) != (kind in _NEEDS_VALUE):
        raise _unreadable(word)
    number = _read(int, value, word) if value else 0
    if kind == "status" and not _FIRST_STATUS <= number <= _LAST_STATUS:
        raise _unreadable(word)
    share, numbers = _where(where, word)
    return Fault(kind, number, share, numbers)


def _kinds() -> Iterator[FaultKind]:
    yield from get_args(FaultKind)


def _where(text: str, word: str) -> tuple[float, tuple[int, ...] | None]:
    if not text:
        return 1.0, None
    if text.endswith("%"):
        share = _read(float, text[:-1], word) / 100
        if not share <= 1:
            raise _unreadable(word)
        return share, None
    return 1.0, tuple(_read(int, number, word) for number in text.split(","))


def _read(kind: Callable[[str], Number], text: str, word: str) -> Number:
    try:
        value = kind(text)
    except ValueError as error:
        raise _unreadable(word) from error
    if value < 0:
        raise _unreadable(word)
    return value


def _unreadable(word: str) -> BadInput:
    values = ", ".join(f"{kind}=N" if kind in _NEEDS_VALUE else kind for kind in _kinds())
    return BadInput(
        "mock_fault",
        f"{word!r} is no fault that the mock knows",
        why="a fault is KIND, KIND=NUMBER, and may end in @10% or @3,7 for the requests that it falls on",
        fix=f"use one of {values}",
    )
