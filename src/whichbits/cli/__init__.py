"""The command line: one small file a verb; flags in, one call, an exit code out."""

import os
import sys
from collections.abc import Sequence

from cyclopts import App, CycloptsError

from whichbits.errors import Interrupted, WhichbitsError

_BAD_INPUT = 2
_PIPE_CLOSED = 141  # as shells write an end by SIGPIPE

app = App(
    name="whichbits",
    suppress_keyboard_interrupt=False,
    help="Which bits should you serve (16, W8A8, W4A16), from which load on, on your hardware and traffic, and why.",
)
# Verbs load on use: `whichbits --help` imports none of them.
app.command("whichbits.cli.run:run", name="run", help="Serve each arm, drive equal traffic at it, and answer.")
app.command("whichbits.cli.predict:predict", name="predict", help="Play a study in virtual time, without its GPU.")
app.command("whichbits.cli.plan:plan", name="plan", help="Find the cheapest fleet for a day of traffic, without a GPU.")
app.command("whichbits.cli.calibrate:calibrate_run", name="calibrate", help="Fit the predictor to a measured run.")
app.command("whichbits.cli.report:report", name="report", help="Rebuild a run's report from what it recorded.")
app.command(
    "whichbits.cli.inspect:inspect", name="inspect", help="Say what a log, a /metrics dump or a result file holds."
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and leave with its exit code; whatever a user can cause is said without a traceback."""
    sys.exit(exit_code(sys.argv[1:] if arguments is None else arguments))


def exit_code(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code."""
    try:
        outcome = app(arguments, exit_on_error=False, result_action="return_value")
    except CycloptsError:  # already explained on stderr by cyclopts
        return _BAD_INPUT
    except WhichbitsError as error:
        return _explain(error)
    except KeyboardInterrupt:
        return Interrupted.exit_code
    except BrokenPipeError:
        return _reader_left()
    return outcome if isinstance(outcome, int) else 0


def _reader_left() -> int:
    """End quietly when whoever read our output, such as ``head``, has seen enough."""
    # Python flushes stdout once more at its end, and would complain there.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return _PIPE_CLOSED


def _explain(error: WhichbitsError) -> int:
    from rich.console import Console

    from whichbits.report.error import print_error

    print_error(error, Console(stderr=True))
    return error.exit_code
