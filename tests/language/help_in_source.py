"""Every text of every ``--help`` page, as cyclopts knows it."""

from collections.abc import Iterator

from whichbits.cli import application
from whichbits.cli.help import NOTES, USAGE, paragraphs
from whichbits.cli.reference import verbs


def help_texts() -> dict[str, str]:
    """Return each paragraph with the verb whose page has it first."""
    found = dict.fromkeys((USAGE, *NOTES), "every page")
    for text, verb in _told():
        for paragraph in paragraphs(text):
            found.setdefault(paragraph, verb)
    return found


def _told() -> Iterator[tuple[str, str]]:
    whole = application()
    yield whole.help, "whichbits"
    for flag in (*whole.help_flags, *whole.version_flags):
        yield whole[flag].help, "every page"
    for group in (whole.group_commands, whole.group_arguments, whole.group_parameters):
        yield group.name, "every page"
    for verb in verbs():
        yield whole[verb].help, verb
        for argument in whole[verb].assemble_argument_collection(parse_docstring=True):
            if argument.show:
                yield argument.parameter.help or "", verb
