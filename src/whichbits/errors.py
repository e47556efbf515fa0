"""Every way whichbits can refuse or fail: one class an exit code.

A message has three parts (what happened, why it usually does, what to do) and a code that the documentation
explains. Nothing here ever reaches a user as a traceback.
"""

from typing import Self

_LONGEST_NOTE = 240


class WhichbitsError(Exception):
    """The family that the command line catches; ``exit_code`` becomes the process's."""

    exit_code = 2

    def __init__(self, code: str, what: str, *, why: str, fix: str) -> None:
        """Keep the parts apart, so that a reporter can lay them out."""
        super().__init__(what)
        self.code = code
        self.what = what
        self.why = why
        self.fix = fix

    def about(self, subject: str) -> Self:
        """Return the same error, saying whom it concerns."""
        return type(self)(self.code, f"{subject}: {self.what}", why=self.why, fix=self.fix)

    def __str__(self) -> str:
        """Return the message as a person reads it."""
        return f"{self.what}\n  why: {self.why}\n  do:  {self.fix}\n  [{self.code}]"


class BadInput(WhichbitsError):  # noqa: N818 - the field's words read better than FooError
    """A study, file or flag that cannot be used."""

    exit_code = 2


class ServerNotReady(WhichbitsError):  # noqa: N818
    """A server did not become ready, or died."""

    exit_code = 3


class RequestsFailed(WhichbitsError):  # noqa: N818
    """Requests failed beyond what the study allows."""

    exit_code = 4


class SloMissed(WhichbitsError):  # noqa: N818
    """The run is good, but an SLO was missed."""

    exit_code = 5


class ClientLimited(WhichbitsError):  # noqa: N818
    """The load generator, not the server, set the pace."""

    exit_code = 6


class ClientFailed(WhichbitsError):  # noqa: N818
    """A part of the load generator died, and with it a part of a cell."""

    exit_code = 6


class ArmMismatch(WhichbitsError):  # noqa: N818
    """An arm is not what it claims to be."""

    exit_code = 7


class Interrupted(WhichbitsError):  # noqa: N818
    """The user stopped the run; what was finished is kept."""

    exit_code = 130


def in_one_line(error: WhichbitsError) -> str:
    """Return what happened and why, for a note or a line of progress; a long why is cut, since the error tells it."""
    line = " ".join(f"{error.what.rstrip('.')}: {error.why.rstrip('.')}".split())
    return line if len(line) <= _LONGEST_NOTE else line[: _LONGEST_NOTE - 2].rstrip() + " …"
