"""``python -m whichbits.serve.mock HOST PORT SETTINGS``: one mock process; SETTINGS are JSON by option.

Prints its address on stdout as soon as it listens. Ends on SIGTERM and SIGINT, and with ``--until-stdin-ends`` when
whoever started it has gone.
"""

import sys
from collections.abc import Sequence

import msgspec

from whichbits.errors import WhichbitsError
from whichbits.serve.mock.facts import announce, say
from whichbits.serve.mock.serve import serve
from whichbits.serve.mock.settings import MockSettings

UNTIL_STDIN_ENDS = "--until-stdin-ends"


def main(arguments: Sequence[str]) -> int:
    """Serve until told to stop (0); 2 if the settings or the address cannot be used."""
    host, port, settings, *rest = arguments
    try:
        told = MockSettings.of(msgspec.json.decode(settings, type=dict[str, str | int | float | bool]))
        announce(told)
        serve(host, int(port), told, with_owner=UNTIL_STDIN_ENDS in rest)
    except (WhichbitsError, OSError) as error:
        say("ERROR", " ".join(str(error).split()))
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
