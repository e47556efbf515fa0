"""A command line that cannot be read: what, why, what to do and a code, in both languages, and never a traceback."""

import re
import shlex
from collections.abc import Callable
from typing import get_args

import pytest
from cyclopts import CycloptsError

from whichbits.cli import _VERBS, LANGUAGE_VARIABLE, app, exit_code
from whichbits.cli.misuse import misuse

CASES = [
    ("rn", "unknown_command", "whichbits has no command 'rn'", "did you mean `whichbits run`?"),
    ("xyzzy", "unknown_command", "whichbits has no command 'xyzzy'", "`whichbits --help` lists the commands"),
    ("--json run", "unknown_command", "--json stands before any command", "write whichbits COMMAND --json;"),
    ("run --outptu x", "unknown_flag", "`whichbits run` has no flag --outptu", "did you mean `--output`?"),
    ("run --outptu=x", "unknown_flag", "`whichbits run` has no flag --outptu", "did you mean `--output`?"),
    ("run -z", "unknown_flag", "`whichbits run` has no flag -z", "`whichbits run --help` lists its flags"),
    ("load --rate", "flag_without_value", "--rate stands without its value", "behind --rate: any text"),
    ("view --port", "flag_without_value", "--port stands without its value", "behind --port: a whole number"),
    ("run --resume --json", "flag_without_value", "--resume stands", "the path of a file or folder"),
    ("compare --margin x", "flag_value_unusable", "'x' is no value for --margin", "`whichbits compare --help`"),
    ("predict x --draws 1.5", "flag_value_unusable", "'1.5' is no value for --draws", "`whichbits predict --help`"),
    ("load --api chta", "flag_value_unusable", "'chta' is no value for --api", "did you mean `chat`?"),
    ("load --prompt 7", "flag_value_unusable", "'7' is no value for --prompt", "`whichbits load --help`"),
    ("report --json=3 x", "flag_value_unusable", "'3' is no value for --json", "`whichbits report --help`"),
    ("load --seconds 3 --seconds 4", "flag_repeated", "--seconds is given more than once", "leave out all but one"),
    ("report a b c", "argument_left_over", "`whichbits report` has no place for b c", "leave it out;"),
    ("predict", "argument_missing", "`whichbits predict` needs STUDY", "write `whichbits predict STUDY`;"),
]
LABELS = {"en": ["error", "why", "do", "code"], "ko": ["오류", "이유", "조치", "코드"]}


Told = Callable[[str, str], list[list[str]]]


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Told:
    """Return what runs a command line in a language, and each line on stderr parted into its label and its text."""
    monkeypatch.setenv("COLUMNS", "200")

    def tell(line: str, lang: str) -> list[list[str]]:
        monkeypatch.setenv(LANGUAGE_VARIABLE, lang)
        assert exit_code(shlex.split(line)) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        return [each.split(maxsplit=1) for each in captured.err.splitlines()]

    return tell


@pytest.mark.parametrize(("line", "code", "what", "fix"), CASES, ids=[line for line, *_ in CASES])
def test_in_english(line: str, code: str, what: str, fix: str, told: Told) -> None:
    lines = told(line, "en")

    assert [label for label, _ in lines] == LABELS["en"]
    assert lines[0][1].startswith(what)
    assert fix in lines[2][1]
    assert lines[3][1] == code


@pytest.mark.parametrize(("line", "code"), [case[:2] for case in CASES], ids=[line for line, *_ in CASES])
def test_in_korean(line: str, code: str, told: Told) -> None:
    """Of English only what was typed and what is to be typed is left: flags, commands, values, placeholders."""
    lines = told(line, "ko")

    assert [label for label, _ in lines] == LABELS["ko"]
    assert lines[3][1] == code
    typed = {*re.findall("[a-z]{2,}", line), "help", "whichbits", "completions", "chat", "token", "ids", "text"}
    meant = {"true", "false", "output", "run"}
    for _, text in lines[:3]:
        assert re.search("[가-힣]", text)
        assert set(re.findall("[a-z]{2,}", text)) <= typed | meant, text


def test_no_flag_rounds_a_fraction(told: Told) -> None:
    """Of every verb and whole number that there is."""
    tried = 0
    for verb in _VERBS:
        for argument in app[verb].assemble_argument_collection(parse_docstring=False):
            if argument.hint is int or int in get_args(argument.hint):
                tried += 1
                works_on = "" if verb in ("mock", "load") else "x"
                assert (
                    told(f"{verb} {works_on} {argument.name} 2.5", "en")[0][1]
                    == f"'2.5' is no value for {argument.name}"
                )
    assert tried > 10


def test_a_whole_number_may_be_written_with_a_point(told: Told) -> None:
    assert told("predict nowhere --draws 2.0", "en")[-1][-1] == "study_unreadable"


def test_a_variable_that_names_no_language(told: Told) -> None:
    lines = told("report x", "kr")

    assert lines[0][1] == "'kr' is no value for WHICHBITS_LANG"
    assert lines[1][1] == "what it takes is one out of en, ko"


def test_the_flag_asks_for_the_language_of_the_error(told: Told) -> None:
    assert told("report --lang ko --foo", "en")[0][1] == "`whichbits report`에는 --foo 옵션이 없습니다"


def test_what_the_parser_says_otherwise_is_quoted() -> None:
    error = misuse(CycloptsError(msg="Cannot do it.", command_chain=("run",)), ())

    assert error.code == "command_line_unreadable"
    assert error.what == "the command line cannot be read: Cannot do it."
    assert error.fix == "write it as `whichbits run --help` shows"
