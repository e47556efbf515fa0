"""The command line: one small file a verb; flags in, one call, an exit code out."""

import errno
import os
import signal
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from cyclopts import App, CycloptsError, Group

from whichbits.cli.fractions import refuse_fractions
from whichbits.cli.streams import StdoutRefused, drop, open_the_closed, unread, watched
from whichbits.errors import BadInput, Interrupted, WhichbitsError

if TYPE_CHECKING:
    from cyclopts.help.protocols import HelpFormatter

LANGUAGE_VARIABLE = "WHICHBITS_LANG"
"""Not LANG: what a log or a CI step says must not depend on whose machine it is."""

LANGUAGE_FLAG = "--lang"

_HELP_FLAGS = frozenset(("--help", "-h"))
_PIPE_CLOSED = 141  # as shells write an end by SIGPIPE

_QUESTION = "Which bits should you serve (16, W8A8, W4A16), from which load on, on your hardware and traffic, and why."

_INSPECT = """Say what a log, a /metrics dump or a result file holds.

Kinds, told by the content: startup_log (vLLM, SGLang, llama.cpp, TGI, TensorRT-LLM, LMDeploy, the embedded engine),
request_log (llama.cpp's timings), metrics (a /metrics text, a run's scrapes), bench_json and bench_stdout (vllm bench,
sglang.bench_serving), sse (a captured stream or HTTP answer), profile_trace (torch's profiler), dataset (ShareGPT,
JSONL, traces of BurstGPT, Azure and Mooncake).
"""

_VERBS = {
    "run": ("run:run", "Serve each arm, drive equal traffic at it, and answer."),
    "quality": ("quality:quality", "Say what each arm's bits cost in answers."),
    "predict": ("predict:predict", "Play a study in virtual time, without its GPU."),
    "plan": ("plan:plan", "Find the cheapest fleet for a day of traffic, without a GPU."),
    "arms": ("arms:arms", "Make W8A8 and W4A16 checkpoints of a 16-bit one."),
    "calibrate": ("calibrate:calibrate_run", "Fit the predictor to a measured run."),
    "report": ("report:report", "Rebuild a run's report from what it recorded."),
    "doctor": ("doctor:doctor", "Say what is wrong here before anything starts."),
    "view": ("view:view", "Browse runs, compare them, and follow one, in a browser."),
    "inspect": ("inspect:inspect", _INSPECT),
    "compare": (
        "compare:compare_results",
        "Compare runs or other tools' results, and fail a CI step where one got worse.",
    ),
    "load": ("load:load", "Drive one endpoint that runs, or find this client's limit."),
    "mock": ("mock:mock", "Run a paced fake server with exact token times."),
    "import": ("import_results:import_results", "Make a run of other tools' results."),
    "export": ("export:export", "Write a run in another tool's format, or send it."),
}
"""Each verb with the function that does it, and what it does."""


def application(pages: "HelpFormatter | None" = None) -> App:
    """Return the command line; ``pages`` lays out its help in another language than English."""
    usual = Group.create_default_parameters()
    made = App(
        name="whichbits",
        help_format="plaintext",  # reading Markdown takes a third of the time that `whichbits --help` has
        help_formatter=pages,
        suppress_keyboard_interrupt=False,
        group_parameters=Group(usual.name, sort_key=usual.sort_key, validator=refuse_fractions),
        help=_QUESTION,
    )
    for name, (place, meaning) in _VERBS.items():
        # Verbs load on use: `whichbits --help` imports none of them. Their own pages are Markdown, for its paragraphs.
        made.command(f"whichbits.cli.{place}", name=name, help=meaning, help_format="markdown")
    return made


app = application()


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and leave with its exit code; whatever a user can cause is said without a traceback."""
    open_the_closed()
    sys.stderr = unread(sys.stderr)
    sys.stdout = watched(sys.stdout)
    try:
        code = exit_code(sys.argv[1:] if arguments is None else arguments)
        # The work is done: an impatient Ctrl-C does not change its outcome.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    except KeyboardInterrupt:  # it came between the two
        code = Interrupted.exit_code
    sys.exit(code)


def exit_code(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code."""
    if not os.environ.get(LANGUAGE_VARIABLE, "unset"):
        del os.environ[LANGUAGE_VARIABLE]  # a CI step's variable without a value asks for nothing
    arguments = _language_behind_the_verb(arguments)
    try:
        spoken = _with_its_help(arguments)
        outcome = spoken(arguments, exit_on_error=False, print_error=False, result_action="return_value")
    except CycloptsError as error:
        return _explain_misuse(error, arguments)
    except WhichbitsError as error:
        return _explain(error, arguments)
    except KeyboardInterrupt:
        return Interrupted.exit_code
    except (BrokenPipeError, SystemExit):  # rich makes an exit of a closed pipe, with a code of its own
        return _reader_left()
    except OSError as error:
        told = _told(error)
        if told is None:
            raise
        return _explain(told, arguments)
    return outcome if isinstance(outcome, int) else 0


def _language_behind_the_verb(arguments: Sequence[str]) -> Sequence[str]:
    """Return a command line that begins with its language as the verbs take it: ``--lang ko doctor`` is a habit."""
    first = arguments[0] if arguments else ""
    words = 2 if first == LANGUAGE_FLAG else 1 if first.startswith(f"{LANGUAGE_FLAG}=") else 0
    verb = arguments[words : words + 1]
    return [*verb, *arguments[:words], *arguments[words + 1 :]] if words and verb else arguments


def _with_its_help(arguments: Sequence[str]) -> App:
    """Return the command line with its help in the language that is asked for."""
    wants_help = not arguments or not _HELP_FLAGS.isdisjoint(arguments)
    if not wants_help or not _names_a_language(arguments):
        return app
    from whichbits.cli.lang import asked_code

    code = asked_code(arguments)
    if code == "en":
        return app
    from whichbits.cli.help import SpokenHelp

    return application(SpokenHelp(code))


def _names_a_language(arguments: Sequence[str]) -> bool:
    return LANGUAGE_VARIABLE in os.environ or any(word.startswith(LANGUAGE_FLAG) for word in arguments)


def _reader_left() -> int:
    """End quietly when whoever read our output, such as ``head``, has seen enough."""
    drop()  # Python flushes stdout once more at its end, and would complain there
    return _PIPE_CLOSED


def _told(error: OSError) -> BadInput | None:
    """Return what people can mend of what the system refuses."""
    if isinstance(error, StdoutRefused):
        drop()  # Python flushes stdout once more at its end
        return _stdout_refused(error)
    kind = _KINDS.get(error.errno or 0)
    return None if kind is None else kind(error)


def _stdout_refused(error: OSError) -> BadInput:
    return BadInput(
        "stdout_unwritable",
        f"what is printed cannot be written: {error.strerror}",
        why="stdout goes to a file or device that takes no more; files that the command had written beside are whole",
        fix="send stdout elsewhere; `whichbits report FOLDER` prints a run's answer again",
    )


def _disk_full(error: OSError) -> BadInput:
    place = f" at {error.filename}" if error.filename else ""
    return BadInput(
        "disk_full",
        f"nothing more can be written{place}: {error.strerror}",
        why="the disk is full, a quota is used up, or files may not grow further (`ulimit -f`); a run keeps what it "
        "had written, and its servers are ended",
        fix="make room, then go on with `whichbits run --resume FOLDER`, or name another folder with --output",
    )


def _no_permission(error: OSError) -> BadInput:
    return BadInput(
        "no_permission",
        f"{error.filename or '?'} is closed to this user: {error.strerror}",
        why="the file or its folder belongs to somebody else, or the disk is read-only",
        fix="change its permissions or the user, or name a folder of your own",
    )


_KINDS = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG), _disk_full),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), _no_permission),
}
"""By the number of the failure."""


def _explain(error: WhichbitsError, arguments: Sequence[str]) -> int:
    from rich.console import Console

    from whichbits.cli.lang import asked_language
    from whichbits.report.error import print_error

    print_error(error, Console(stderr=True), asked_language(arguments))
    return error.exit_code


def _explain_misuse(error: CycloptsError, arguments: Sequence[str]) -> int:
    from whichbits.cli.misuse import misuse

    return _explain(misuse(error, _VERBS), arguments)
