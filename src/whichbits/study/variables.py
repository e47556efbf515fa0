"""Variables of an environment as a study writes them: text, also where YAML would see a number or a switch."""

from typing import Annotated, Any

from pydantic import BeforeValidator


def _text(value: Any) -> str:
    match value:
        case str():
            return value
        case bool():
            return str(value).lower()
        case int() | float():
            return str(value)
        case None:
            message = "must be text or a number; write '' for an empty text"
            raise ValueError(message)
        case _:
            message = "must be text or a number, since that is all that an environment holds"
            raise ValueError(message)


Variables = dict[str, Annotated[str, BeforeValidator(_text)]]
