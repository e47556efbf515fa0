"""The language of what a verb prints: its --lang, or a variable for all of them."""

import os
from collections.abc import Sequence
from typing import Annotated, get_args

from cyclopts import Parameter

from whichbits.cli import LANGUAGE_FLAG, LANGUAGE_VARIABLE
from whichbits.language.language import Code, Language, language

Lang = Annotated[Code, Parameter(env_var=LANGUAGE_VARIABLE)]


def asked_language(arguments: Sequence[str]) -> Language:
    """Return the language that a command line asks for, also where it cannot be read otherwise; English for none."""
    return language(asked_code(arguments))


def asked_code(arguments: Sequence[str]) -> Code:
    """Return the same by its code, without reading a catalogue."""
    words = iter(arguments)
    asked = os.environ.get(LANGUAGE_VARIABLE)
    for word in words:
        if word == LANGUAGE_FLAG:
            asked = next(words, asked)  # a flag at the end, which cannot be read, takes nothing away
        elif word.startswith(f"{LANGUAGE_FLAG}="):
            asked = word.removeprefix(f"{LANGUAGE_FLAG}=")
    return next((code for code in get_args(Code) if code == asked), "en")
