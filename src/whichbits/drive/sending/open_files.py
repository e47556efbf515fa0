"""How many files a process may have open; a connection is one."""

import resource

from whichbits.errors import BadInput

_OTHERS = 64  # files that the process has open besides: shards, pipes, libraries


def allow_open_files(connections: int) -> None:
    """Raise this process's limit as far as it may be raised, if ``connections`` need it.

    Raises:
        BadInput: the limit that the system sets is too low.
    """
    needed = connections + _OTHERS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise BadInput(
            "open_files_too_few",
            f"{connections} connections need {needed} open files, but this process may have {hard}.",
            why="Every connection is an open file, and the system limits them per process.",
            fix="Raise the hard limit (ulimit -Hn, or LimitNOFILE of a service), or send from more workers.",
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (needed if hard == resource.RLIM_INFINITY else hard, hard))
