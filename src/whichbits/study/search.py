"""What a study leaves to a search: which loads, how many repeats, for how long."""

import re
from math import ceil
from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    PositiveFloat,
    PositiveInt,
    Tag,
    WithJsonSchema,
    model_validator,
)

from whichbits.study.strict import Strict

SearchMetric = Literal[
    "tpot_ms.p50",
    "tpot_ms.mean",
    "tpot_ms.p90",
    "itl_ms.p50",
    "ttft_ms.p50",
    "ttft_ms.p90",
    "e2e_ms.p50",
    "output_tokens_per_s",
    "goodput_requests_per_s",
    "cost_per_million_tokens",
]
"""Metrics whose crossings a search can place; a p99 needs more requests than a search's cells have."""

_UNITS = {"s": 1, "min": 60, "h": 3600}
_LAST_IN_SECONDS = 120
_WRITTEN = re.compile(rf"\s*(\d+(?:\.\d+)?)\s*({'|'.join(_UNITS)})\s*")


def budget_words(seconds: float) -> str:
    """Return a budget of at least so many seconds as a study writes it."""
    return f"{ceil(seconds)}s" if seconds <= _LAST_IN_SECONDS else f"{ceil(seconds / 60)}min"


class LoadRange(Strict):
    """The loads among which a search chooses, both ends included, as concurrencies."""

    model_config = ConfigDict(serialize_by_alias=True)

    lowest: PositiveInt = Field(default=1, alias="from", description="The lowest concurrency.")
    highest: PositiveInt = Field(default=256, alias="to", description="The highest concurrency.")

    @model_validator(mode="after")
    def _a_range(self) -> "LoadRange":
        if self.lowest >= self.highest:
            message = f"from ({self.lowest}) must be below to ({self.highest})"
            raise ValueError(message)
        return self


class AutoLoads(Strict):
    """Loads that the study finds itself: a coarse sweep, then where the answer is still open."""

    auto: LoadRange = Field(default=LoadRange(), description="Where to search.")

    @model_validator(mode="before")
    @classmethod
    def _the_word_alone_is_the_whole_range(cls, value: Any) -> Any:
        return {"auto": {}} if value == "auto" else value


def seconds_of(written: Any) -> Any:
    """Return the seconds that ``20min``, ``1h`` or ``90s`` mean; anything else is returned as it is."""
    found = _WRITTEN.fullmatch(written) if isinstance(written, str) else None
    return written if found is None else float(found[1]) * _UNITS[found[2]]


Seconds = Annotated[
    PositiveFloat,
    BeforeValidator(seconds_of),
    WithJsonSchema(
        {"anyOf": [{"type": "number", "exclusiveMinimum": 0}, {"type": "string", "pattern": r"^[0-9.]+ *(s|min|h)$"}]}
    ),
]
"""A number of seconds, or a text such as ``20min``."""


def _word_or_value(value: Any) -> str:
    """Tell ``auto`` and its like from plain values, so that a fault is said once; no key begins with #."""
    return "#word" if isinstance(value, str | dict | AutoLoads) else "#value"


EITHER = Discriminator(_word_or_value)
Word = Tag("#word")
Value = Tag("#value")
