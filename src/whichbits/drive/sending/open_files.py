"""Room for a worker's connections: each is an open file."""

from whichbits.errors import BadInput
from whichbits.hardware.open_files import open_files, raise_soft_limit

_OTHERS = 64  # files that the process has open besides: shards, pipes, libraries


def allow_open_files(connections: int) -> None:
    """Raise this process's limit as far as it may be raised, if ``connections`` need it.

    Raises:
        BadInput: the limit that the system sets is too low.
    """
    needed = connections + _OTHERS
    limits = open_files()
    if not limits.room_for(needed):
        raise BadInput(
            "open_files_too_few",
            f"{connections} connections need {needed} open files, but this process may have {limits.hard}.",
            why="Every connection is an open file, and the system limits them per process.",
            fix="Raise the hard limit (ulimit -Hn, or LimitNOFILE of a service), or send from more workers.",
        )
    if limits.soft is not None and limits.soft < needed:
        raise_soft_limit(limits.hard or needed)  # as far as it goes: other workers may be threads of this process
