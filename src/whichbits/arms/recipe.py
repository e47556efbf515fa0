"""What to make of a checkpoint: a weight format, how it is stored, and how weights share scales."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal, get_args

from whichbits.errors import BadInput

Scheme = Literal["compressed-tensors", "gptq", "awq"]
Strategy = Literal["tensor", "channel", "group"]

NIBBLES_A_WORD = 8
_SCHEMES: tuple[str, ...] = get_args(Scheme)


@dataclass(frozen=True)
class Recipe:
    """One arm. ``group_size`` weights along the input share a scale; it is None where a row or a matrix does."""

    weight_format: str
    scheme: Scheme
    bits: int
    kind: Literal["int", "float"]
    strategy: Strategy
    group_size: int | None
    symmetric: bool

    @property
    def name(self) -> str:
        """The folder's name: ``w8a8-int8``, ``w4a16-gptq``."""
        return self.weight_format if self.scheme == "compressed-tensors" else f"{self.weight_format}-{self.scheme}"

    @property
    def activation_bits(self) -> int | None:
        """Width of the linear layers' inputs; None where they stay as they are."""
        return 8 if self.weight_format.startswith("w8a8") else None

    def groups(self, inputs: int) -> int:
        """Return the scales that a row of ``inputs`` weights has."""
        return inputs // self.group_size if self.group_size else 1


_EIGHT_BITS: Mapping[str, Literal["int", "float"]] = {"w8a8-fp8": "float", "w8a8-int8": "int"}
FORMATS = (*_EIGHT_BITS, "w4a16")
_LIKELY: Mapping[str, str] = {"fp8": "w8a8-fp8", "int8": "w8a8-int8", "w8a8": "w8a8-int8", "int4": "w4a16"}


@dataclass(frozen=True)
class Wishes:
    """What holds for all arms of one command. ``scheme`` concerns W4A16: both W8A8 are compressed-tensors'."""

    scheme: str = "compressed-tensors"
    group_size: int = 128
    symmetric: bool = True
    fp8_scales: str = "channel"


def recipes_of(formats: Sequence[str], wishes: Wishes) -> tuple[Recipe, ...]:
    """Return a recipe for each format, in the order asked for.

    Raises:
        BadInput: ``arm_format_unknown``, ``arm_scheme_unknown`` or ``arm_wish_unusable``.
    """
    _insist_on_known(wishes)
    if not formats:
        raise _unknown_format("")
    return tuple(_recipe(name, wishes) for name in dict.fromkeys(formats))


def _recipe(name: str, wishes: Wishes) -> Recipe:
    if name == "w4a16":
        return _four_bits(wishes)
    if name not in _EIGHT_BITS:
        raise _unknown_format(name)
    kind = _EIGHT_BITS[name]
    strategy: Strategy = "tensor" if kind == "float" and wishes.fp8_scales == "tensor" else "channel"
    return Recipe(name, "compressed-tensors", 8, kind, strategy, None, symmetric=True)


def _four_bits(wishes: Wishes) -> Recipe:
    scheme: Scheme = next(known for known in get_args(Scheme) if known == wishes.scheme)
    # AWQ stores zero points always, and engines read them always.
    symmetric = wishes.symmetric and scheme != "awq"
    return Recipe("w4a16", scheme, 4, "int", "group", wishes.group_size, symmetric)


def _insist_on_known(wishes: Wishes) -> None:
    if wishes.scheme not in _SCHEMES:
        raise BadInput(
            "arm_scheme_unknown",
            f"there is no scheme {wishes.scheme!r} to store 4-bit weights in",
            why="engines know a few layouts, and this is the name of none of them",
            fix=f"use one of {', '.join(_SCHEMES)}",
        )
    if wishes.group_size < NIBBLES_A_WORD or wishes.group_size % NIBBLES_A_WORD:
        raise _unusable(f"a group of {wishes.group_size} weights", "eight 4-bit weights share a word", "32, 64 or 128")
    if wishes.fp8_scales not in ("channel", "tensor"):
        raise _unusable(
            f"FP8 scales per {wishes.fp8_scales!r}", "a row or a whole matrix shares one", "channel or tensor"
        )


def _unusable(what: str, why: str, fix: str) -> BadInput:
    return BadInput("arm_wish_unusable", f"{what} cannot be stored", why=why, fix=f"use {fix}")


def _unknown_format(name: str) -> BadInput:
    near = [_LIKELY[name]] if name in _LIKELY else get_close_matches(name, FORMATS, n=1)
    return BadInput(
        "arm_format_unknown",
        f"there is no format {name!r} to make" + (f"; did you mean {near[0]!r}?" if near else ""),
        why="arms are named by the bits of weights and of activations, as in a study's weight_format",
        fix=f"use some of {', '.join(FORMATS)}, separated by commas",
    )
