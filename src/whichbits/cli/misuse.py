"""A command line that cannot be read, told like any other bad input: what, why, what to do, and a code."""

import difflib
from collections.abc import Iterable
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from cyclopts import (
    CoercionError,
    CycloptsError,
    MissingArgumentError,
    RepeatArgumentError,
    UnknownCommandError,
    UnknownOptionError,
    UnusedCliTokensError,
)
from cyclopts.argument import Argument

from whichbits.errors import BadInput


def misuse(error: CycloptsError, verbs: Iterable[str]) -> BadInput:  # noqa: PLR0911 - an answer a kind of error
    """Return what is wrong with a command line as an error of our own; ``verbs`` are those there are."""
    verb = " ".join(("whichbits", *(error.command_chain or ())))
    match error:
        case UnknownCommandError(unused_tokens=[str(word), *_]):
            return _unknown_command(word, verbs)
        case UnknownOptionError():
            return _unknown_flag(error, verb)
        case RepeatArgumentError():
            return _repeated(error)
        case UnusedCliTokensError(unused_tokens=[*words]):
            return _left_over(words, verb)
        case MissingArgumentError(argument=Argument() as argument, keyword=keyword):
            return _missing(argument, verb) if keyword is None else _without_value(argument, keyword)
        case CoercionError(argument=Argument() as argument) if error.token is not None and error.msg is None:
            name = error.token.keyword or _shown(argument)
            return _unusable_value(name, error.token.value, argument.hint, verb)
        case _:
            return BadInput(
                "command_line_unreadable",
                f"the command line cannot be read: {error}",
                why="flags and what stands between them contradict each other",
                fix=f"write it as `{verb} --help` shows",
            )


def _unknown_command(word: str, verbs: Iterable[str]) -> BadInput:
    if word.startswith("-"):
        return BadInput(
            "unknown_command",
            f"{word} stands before any command",
            why="flags belong to a command and stand behind it",
            fix=f"write whichbits COMMAND {word}; `whichbits --help` lists the commands",
        )
    close = _closest(word, verbs)
    return BadInput(
        "unknown_command",
        f"whichbits has no command {word!r}",
        why="it is mistyped, or of another release",
        fix=f"did you mean `whichbits {close}`?" if close else "`whichbits --help` lists the commands",
    )


def _unknown_flag(error: UnknownOptionError, verb: str) -> BadInput:
    flag = (error.token.keyword or error.token.value).partition("=")[0]
    close = _closest(flag, (name for each in error.argument_collection if each.show for name in each.names))
    return BadInput(
        "unknown_flag",
        f"`{verb}` has no flag {flag}",
        why="it is mistyped, or belongs to another command",
        fix=f"did you mean `{close}`?" if close else f"`{verb} --help` lists its flags",
    )


def _repeated(error: RepeatArgumentError) -> BadInput:
    return BadInput(
        "flag_repeated",
        f"{error.token.keyword} is given more than once",
        why="one value can hold, and which one is meant is not guessed",
        fix="leave out all but one",
    )


def _left_over(words: list[str], verb: str) -> BadInput:
    return BadInput(
        "argument_left_over",
        f"`{verb}` has no place for {' '.join(words)}",
        why="it takes fewer things than are named, or a value lost its flag or its quotes",
        fix=f"leave it out; `{verb} --help` says what it takes",
    )


def _missing(argument: Argument, verb: str) -> BadInput:
    name = _shown(argument)
    return BadInput(
        "argument_missing",
        f"`{verb}` needs {name}, which is not given",
        why="it is what the command works on, and has no default",
        fix=f"write `{verb} {name}`; `{verb} --help` says what that is",
    )


def _without_value(argument: Argument, flag: str) -> BadInput:
    return BadInput(
        "flag_without_value",
        f"{flag} stands without its value",
        why="nothing follows it, or another flag does",
        fix=f"write a value behind {flag}: {_kind(argument.hint)}",
    )


def _unusable_value(name: str, value: str, hint: Any, verb: str) -> BadInput:
    close = _closest(value, _choices(hint))
    return BadInput(
        "flag_value_unusable",
        f"{value!r} is no value for {name}",
        why=f"what it takes is {_kind(hint)}",
        fix=f"did you mean `{close}`?" if close else f"correct it; `{verb} --help` says what it means",
    )


def _closest(word: str, known: Iterable[str]) -> str | None:
    return next(iter(difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)), None)


def _shown(argument: Argument) -> str:
    """Return how help pages name what has no flag."""
    return argument.name.lstrip("-").upper()


def _kind(hint: Any) -> str:
    """Return what may be given, in words."""
    kind = _one_of(hint)
    if choices := _choices(kind):
        return f"one out of {', '.join(choices)}"
    if kind is bool:
        return "true or false"
    if kind is int:
        return "a whole number"
    if kind is float:
        return "a number"
    return "the path of a file or folder" if kind is Path else "any text"


def _choices(hint: Any) -> tuple[str, ...]:
    kind = _one_of(hint)
    return tuple(map(str, get_args(kind))) if get_origin(kind) is Literal else ()


def _one_of(hint: Any) -> Any:
    """Return the type of a value that may also be None, or of one among several."""
    if get_origin(hint) in (Union, UnionType, tuple):
        return _one_of(next(each for each in get_args(hint) if each is not type(None)))
    return hint
