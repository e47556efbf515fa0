"""The command line: one small file a verb; flags in, one call, an exit code out."""

import errno
import os
import signal
import sys
from collections.abc import Sequence
from functools import partial

from cyclopts import App, CycloptsError

from whichbits.errors import BadInput, Interrupted, WhichbitsError

LANGUAGE_VARIABLE = "WHICHBITS_LANG"
"""Not LANG: what a log or a CI step says must not depend on whose machine it is."""

_BAD_INPUT = 2
_PIPE_CLOSED = 141  # as shells write an end by SIGPIPE

_INSPECT = """Say what a log, a /metrics dump or a result file holds.

Kinds, told by the content: startup_log (vLLM, SGLang, llama.cpp, TGI, TensorRT-LLM, LMDeploy, the embedded engine),
request_log (llama.cpp's timings), metrics (a /metrics text, a run's scrapes), bench_json and bench_stdout (vllm bench,
sglang.bench_serving), sse (a captured stream or HTTP answer), profile_trace (torch's profiler), dataset (ShareGPT,
JSONL, traces of BurstGPT, Azure and Mooncake).
"""

app = App(
    name="whichbits",
    help_format="plaintext",  # reading Markdown takes a third of the time that `whichbits --help` has
    suppress_keyboard_interrupt=False,
    help="Which bits should you serve (16, W8A8, W4A16), from which load on, on your hardware and traffic, and why.",
)
# Verbs load on use: `whichbits --help` imports none of them. Their own pages are Markdown, for its paragraphs.
_verb = partial(app.command, help_format="markdown")
_verb("whichbits.cli.run:run", name="run", help="Serve each arm, drive equal traffic at it, and answer.")
_verb("whichbits.cli.quality:quality", name="quality", help="Say what each arm's bits cost in answers.")
_verb("whichbits.cli.predict:predict", name="predict", help="Play a study in virtual time, without its GPU.")
_verb("whichbits.cli.plan:plan", name="plan", help="Find the cheapest fleet for a day of traffic, without a GPU.")
_verb("whichbits.cli.arms:arms", name="arms", help="Make W8A8 and W4A16 checkpoints of a 16-bit one.")
_verb("whichbits.cli.calibrate:calibrate_run", name="calibrate", help="Fit the predictor to a measured run.")
_verb("whichbits.cli.report:report", name="report", help="Rebuild a run's report from what it recorded.")
_verb("whichbits.cli.doctor:doctor", name="doctor", help="Say what is wrong here before anything starts.")
_verb("whichbits.cli.view:view", name="view", help="Browse runs, compare them, and follow one, in a browser.")
_verb("whichbits.cli.inspect:inspect", name="inspect", help=_INSPECT)
_verb(
    "whichbits.cli.compare:compare_results",
    name="compare",
    help="Compare runs or other tools' results, and fail a CI step where one got worse.",
)
_verb("whichbits.cli.load:load", name="load", help="Drive one endpoint that runs, or find this client's limit.")
_verb("whichbits.cli.mock:mock", name="mock", help="Run a paced fake server with exact token times.")
_verb("whichbits.cli.import_results:import_results", name="import", help="Make a run of other tools' results.")
_verb("whichbits.cli.export:export", name="export", help="Write a run in another tool's format, or send it.")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and leave with its exit code; whatever a user can cause is said without a traceback."""
    try:
        code = exit_code(sys.argv[1:] if arguments is None else arguments)
        signal.signal(
            signal.SIGINT, signal.SIG_IGN
        )  # the work is done: an impatient Ctrl-C does not change its outcome
    except KeyboardInterrupt:  # it came between the two
        code = Interrupted.exit_code
    sys.exit(code)


def exit_code(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code."""
    if not os.environ.get(LANGUAGE_VARIABLE, "unset"):
        del os.environ[LANGUAGE_VARIABLE]  # a CI step's variable without a value asks for nothing
    try:
        outcome = app(arguments, exit_on_error=False, result_action="return_value")
    except CycloptsError:  # already explained on stderr by cyclopts
        return _BAD_INPUT
    except WhichbitsError as error:
        return _explain(error, arguments)
    except KeyboardInterrupt:
        return Interrupted.exit_code
    except BrokenPipeError:
        return _reader_left()
    except OSError as error:
        if error.errno not in _TOLD:
            raise
        return _explain(_TOLD[error.errno](error), arguments)
    return outcome if isinstance(outcome, int) else 0


def _reader_left() -> int:
    """End quietly when whoever read our output, such as ``head``, has seen enough."""
    # Python flushes stdout once more at its end, and would complain there.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return _PIPE_CLOSED


def _disk_full(error: OSError) -> BadInput:
    place = f" at {error.filename}" if error.filename else ""
    return BadInput(
        "disk_full",
        f"nothing more can be written{place}: {error.strerror}",
        why="the disk is full, or a quota is used up; a run keeps what it had written, and its servers are ended",
        fix="make room, then go on with `whichbits run --resume FOLDER`, or name another folder with --output",
    )


def _no_permission(error: OSError) -> BadInput:
    return BadInput(
        "no_permission",
        f"{error.filename or '?'} is closed to this user: {error.strerror}",
        why="the file or its folder belongs to somebody else, or the disk is read-only",
        fix="change its permissions or the user, or name a folder of your own",
    )


_TOLD = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT), _disk_full),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), _no_permission),
}
"""What the system refuses and people can mend, by its number."""


def _explain(error: WhichbitsError, arguments: Sequence[str]) -> int:
    from rich.console import Console

    from whichbits.cli.lang import asked_language
    from whichbits.report.error import print_error

    print_error(error, Console(stderr=True), asked_language(arguments))
    return error.exit_code
