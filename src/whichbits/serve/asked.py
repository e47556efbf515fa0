"""Settings that a study gives of a server that runs already, held against what the server says of itself."""

import math
from collections.abc import Mapping

from whichbits.record.schema import Fact

Setting = str | int | float | bool | None

_ALIASES = {"half": "float16", "float": "float32"}
_SHARE_TOLERANCE = 1e-6


def refuted(settings: Mapping[str, Setting], facts: Mapping[str, Fact]) -> list[str]:
    """Return each setting of which the server says something else, with both values."""
    return [
        f"the arm says {name} {_words(asked)}, the server {_words(facts[name].value)} ({facts[name].source})"
        for name, asked in settings.items()
        if _known(name, asked, facts.get(name)) and not _same(name, asked, facts[name].value)
    ]


def untold(settings: Mapping[str, Setting], facts: Mapping[str, Fact]) -> list[str]:
    """Return the names of the settings of which the server says nothing."""
    return [name for name, asked in settings.items() if asked != "auto" and not _known(name, asked, facts.get(name))]


def _known(name: str, asked: Setting, told: Fact | None) -> bool:
    """Return whether the two can be compared: `auto` leaves the choice to the engine, and says nothing of it."""
    if told is None or "auto" in (asked, told.value):
        return False
    # A method of None is a statement (16 bits); any other None is not.
    return told.value is not None or name == "quantization"


def _same(name: str, asked: Setting, told: Setting) -> bool:
    if isinstance(asked, int | float) and isinstance(told, int | float):
        return math.isclose(asked, told, rel_tol=_SHARE_TOLERANCE)
    return _plain(name, asked) == _plain(name, told)


def _plain(name: str, value: Setting) -> str:
    """Return one spelling of what engines spell in several ways: kernels in method names, modules of types."""
    word = str(value).lower().removeprefix("torch.")
    if name == "quantization":
        return word.removeprefix("auto_").removesuffix("_marlin")
    if name == "kv_cache_dtype":
        return "fp8" if word == "fp8_e4m3" else _ALIASES.get(word, word)
    return _ALIASES.get(word, word)


def _words(value: Setting) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
