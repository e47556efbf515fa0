"""Cuts a body into server-sent events while it arrives."""

import re
from collections.abc import Sequence

from whichbits.drive.answer.sse import ServerEvent, split_events

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# Atomic, so that one CRLF is never taken for two line ends.
_BLANK_LINE = re.compile(rb"(?>\r\n|\r|\n){2}")
_LONGEST_BLANK_LINE = 4
_CR = 13


class EventCutter:
    """Holds the bytes of an event that is not complete, and gives each event with the piece that completes it."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self.tail = b""
        self._begun = False

    def only_event(self, piece: bytes) -> bytes | None:
        """Return the data of ``piece`` if that is one line of data and its blank line, as nearly every piece is."""
        if (
            not piece.startswith(b"data: {")
            or not piece.endswith(b"\n\n")
            or piece.find(b"\n") != len(piece) - 2
            or self._rest
            or b"\r" in piece
        ):
            return None
        self._begun = True
        return piece[6:-2]

    def holds_event_before(self, piece: bytes) -> bool:
        """Return whether an event was complete before ``piece``: a CR may have been the first half of a CRLF."""
        tail = self.tail
        return bool(tail) and tail[-1] == _CR and piece[:1] != b"\n" and _BLANK_LINE.search(tail) is not None

    def cut(self, piece: bytes) -> Sequence[ServerEvent]:
        """Return the events that ``piece``, which is not empty, completes; their offsets mean nothing."""
        if not _BLANK_LINE.search(self.tail + piece):
            # A long event is joined once, not with each of its pieces.
            self._rest.append(piece)
            self.tail = (self.tail + piece[-_LONGEST_BLANK_LINE:])[-_LONGEST_BLANK_LINE:]
            return ()
        body = b"".join((*self._rest, piece))
        end = _end_of_events(body)
        self._hold(body[end:])
        return self._split(body[:end])

    def rest(self) -> Sequence[ServerEvent]:
        """Return what is held as if the body ended here."""
        held = b"".join(self._rest)
        self._hold(b"")
        return self._split(held)

    def _hold(self, rest: bytes) -> None:
        self._rest = [rest] if rest else []
        self.tail = rest[-_LONGEST_BLANK_LINE:]

    def _split(self, body: bytes) -> Sequence[ServerEvent]:
        if self._begun and body.startswith(_BYTE_ORDER_MARK):
            body = b":\n" + body  # it is a mark at the very start alone
        self._begun = self._begun or bool(body)
        return split_events(body)


def _end_of_events(body: bytes) -> int:
    """Return where the last event that is surely complete ends."""
    if b"\r" not in body:
        return body.rfind(b"\n\n") + 2
    end = 0
    for match in _BLANK_LINE.finditer(body):
        if match.end() == len(body) and body.endswith(b"\r"):
            break  # an LF may follow, and belong to it
        end = match.end()
    return end
