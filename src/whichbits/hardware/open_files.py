"""How many files this process may have open, and raising that: a connection is one."""

import resource
from contextlib import suppress
from typing import NamedTuple


class OpenFiles(NamedTuple):
    """The limit that holds, and the one up to which it may be raised; None is no limit."""

    soft: int | None
    hard: int | None

    def room_for(self, files: int) -> bool:
        """Return whether so many files may be open once the limit is raised."""
        return self.hard is None or self.hard >= files


def open_files() -> OpenFiles:
    """Return the limits of this process."""
    return OpenFiles(*map(_number, resource.getrlimit(resource.RLIMIT_NOFILE)))


def raise_soft_limit(wanted: int | None = None) -> OpenFiles:
    """Raise the soft limit to ``wanted`` files, or as far as it may be raised; return the limits that then hold.

    Where the system refuses, they stay: whoever needs more than they leave looks at them.
    """
    soft, hard = open_files()
    raised = hard if wanted is None else wanted if hard is None else min(wanted, hard)
    if soft is not None and (raised is None or raised > soft):
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (_limit(raised), _limit(hard)))
    return open_files()


def _number(limit: int) -> int | None:
    return None if limit == resource.RLIM_INFINITY else limit


def _limit(number: int | None) -> int:
    return resource.RLIM_INFINITY if number is None else number
