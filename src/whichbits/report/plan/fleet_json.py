"""A fleet plan as one JSON object."""

import json
import math
from dataclasses import is_dataclass
from typing import Any

from whichbits.plan.answer import Answer
from whichbits.plan.demand import Demand
from whichbits.plan.fleet import FleetDay
from whichbits.plan.prospect import FACTORS, Goal


def plan_json(answer: Answer) -> str:
    """Return the plan; what is not known is null."""
    return json.dumps({"schema_version": 1, "slo_factors": FACTORS} | _plain(answer), indent=1)


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return _plain(_fields(value))
    match value:
        case dict():
            return {key: _plain(each) for key, each in value.items()}
        case list() | tuple():
            return [_plain(each) for each in value]
        case float() if not math.isfinite(value):
            return None
        case _:
            return value


def _fields(value: Any) -> dict[str, Any]:
    """Return what is said of a part of the plan: its fields, and what they amount to."""
    fields = {name: getattr(value, name) for name in value.__dataclass_fields__}
    match value:
        case Goal():
            return {"slo": value.slo.model_dump(), "share": value.share}
        case Demand():
            return {"hourly": value.hourly, "requests_per_day": value.requests_per_day} | _lengths(value)
        case FleetDay():
            return {"name": value.name} | fields | {"most": value.most}
        case _:
            return fields


def _lengths(demand: Demand) -> dict[str, float]:
    prompt = sum(demand.sample.prompt_tokens) / len(demand.sample)
    return {"mean_prompt_tokens": prompt, "mean_output_tokens": demand.mean_output_tokens}
