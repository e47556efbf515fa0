"""The language of what a verb prints: its --lang, or a variable for all of them."""

import os
from collections.abc import Sequence
from typing import Annotated, get_args

from cyclopts import Parameter

from whichbits.cli import LANGUAGE_VARIABLE
from whichbits.language.language import ENGLISH, Code, Language, language

Lang = Annotated[Code, Parameter(env_var=LANGUAGE_VARIABLE)]

_FLAG = "--lang"


def asked_language(arguments: Sequence[str]) -> Language:
    """Return the language that a command line asks for, also where it cannot be read otherwise; English for none."""
    words = iter(arguments)
    asked = os.environ.get(LANGUAGE_VARIABLE)
    for word in words:
        if word == _FLAG:
            asked = next(words, None)
        elif word.startswith(f"{_FLAG}="):
            asked = word.removeprefix(f"{_FLAG}=")
    return next((language(code) for code in get_args(Code) if code == asked), ENGLISH)
