"""A flag that takes a whole number takes no fraction: the parser would round it, and nobody would know."""

from typing import get_args

from cyclopts import CoercionError
from cyclopts.argument import Argument, ArgumentCollection


def refuse_fractions(arguments: ArgumentCollection) -> None:
    """Refuse what is no whole number for a flag that takes one.

    Raises:
        CoercionError: as for any other value that the flag cannot take.
    """
    for argument in arguments:
        for token in argument.tokens if _is_whole(argument) else ():
            if "." in token.value and not float(token.value).is_integer():
                raise CoercionError(argument=argument, token=token, target_type=int)


def _is_whole(argument: Argument) -> bool:
    return argument.hint is int or int in get_args(argument.hint)
