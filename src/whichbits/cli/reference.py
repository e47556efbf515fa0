"""The verbs and flags as Markdown tables, made from the code, so that docs/cli.md cannot drift.

``python -m whichbits.cli.reference`` prints them; with a path, it writes them between that file's markers.
"""

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

from cyclopts.argument import Argument

from whichbits.cli import app

BEGIN, END = "<!-- reference: begin -->", "<!-- reference: end -->"

_WORDS = {"Path": "path", "str": "text", "int": "whole number", "float": "number", "bool": "switch"}
_IN_PLACE = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)


def verbs() -> list[str]:
    """Return the verbs in the order of the source, which is that of a study's life."""
    return [name for name in app if not name.startswith("-")]


def reference() -> str:
    """Return a section for each verb: what it does, how it is called, a table of its flags."""
    return "\n\n".join(_section(verb) for verb in verbs())


def refreshed(page: str) -> str:
    """Return ``page`` with the current sections between its markers."""
    block = f"{BEGIN}\n\n{reference()}\n\n{END}"
    return re.sub(f"{BEGIN}.*{END}", lambda _: block, page, flags=re.DOTALL)


def _section(verb: str) -> str:
    arguments = [argument for argument in app[verb].assemble_argument_collection(parse_docstring=True) if argument.show]
    usage = " ".join(["whichbits", verb, *_places(arguments), "[OPTIONS]"])
    rows = [_row(argument) for argument in arguments]
    table = ["| flag | value | default | meaning |", "|---|---|---|---|", *rows]
    return "\n".join([f"## {verb}", "", (app[verb].help or "").strip(), "", f"    {usage}", "", *table])


def _places(arguments: list[Argument]) -> Iterator[str]:
    for argument in arguments:
        if argument.field_info.kind in _IN_PLACE:
            name = argument.name.lstrip("-").upper()
            many = "..." if argument.field_info.kind is inspect.Parameter.VAR_POSITIONAL else ""
            yield f"{name}{many}" if argument.required else f"[{name}{many}]"


def _row(argument: Argument) -> str:
    in_place = argument.field_info.kind in _IN_PLACE
    names = [argument.name.lstrip("-").upper()] if in_place else list(argument.names)
    meaning = " ".join((argument.parameter.help or "").split()).replace("|", "\\|")
    flags = ", ".join(f"`{name}`" for name in names if not name.startswith("--empty-"))
    return f"| {flags} | {_kind(argument.hint)} | {_default(argument)} | {meaning} |"


def _kind(hint: Any) -> str:
    """Return what may stand there, in words."""
    origin, options = get_origin(hint), [option for option in get_args(hint) if option not in (type(None), ...)]
    if origin is Literal:
        return ", ".join(f"`{option}`" for option in options)
    if origin is tuple:
        return f"{_kind(options[0])}, several"
    if origin is Union or len(options) == 1:
        return _kind(options[0])
    return _WORDS[hint.__name__]


def _default(argument: Argument) -> str:
    default = argument.field_info.default
    if argument.required:
        return "required"
    if default in (None, inspect.Parameter.empty, (), ""):
        return "–"  # noqa: RUF001 - what stands for nothing in every table of the project
    if isinstance(default, bool):
        return "on" if default else "off"
    return f"`{default:g}`" if isinstance(default, float) else f"`{default}`"


if __name__ == "__main__":
    if sys.argv[1:]:
        page = Path(sys.argv[1])
        page.write_text(refreshed(page.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        print(reference())
