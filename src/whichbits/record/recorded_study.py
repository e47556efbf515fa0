"""The parts of a recorded study that analysis reads without the study's own model, and their shapes.

A run keeps its study as plain JSON, since imported runs have one of another kind, and later releases other keys.
"""

from collections.abc import Mapping
from typing import Any

import msgspec


class _Arm(msgspec.Struct):
    model: str | None = None
    served_model_name: str | None = None
    weight_format: str | None = None
    price_per_hour: float | None = None
    options: dict[str, Any] | None = None


class _Stage(msgspec.Struct):
    share: float | None = None


class _Arrivals(msgspec.Struct):
    kind: str | None = None
    stages: list[_Stage] | None = None


class _Traffic(msgspec.Struct):
    kind: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None


class _Study(msgspec.Struct):
    arms: dict[str, _Arm] = {}
    traffic: _Traffic | None = None
    arrivals: _Arrivals | None = None
    request: dict[str, Any] | None = None
    quality: dict[str, Any] | None = None
    slo: dict[str, Any] | None = None
    predictions: list[str] | None = None


def refuse_misshapen(study: Mapping[str, Any]) -> None:
    """Raise msgspec.ValidationError for a study that analysis would trip over; keys that are not there are fine."""
    msgspec.convert(study, _Study)
