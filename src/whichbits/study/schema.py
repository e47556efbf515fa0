"""The study file's JSON Schema, for editors and for suggestions."""

import json
from collections.abc import Iterable
from functools import cache
from typing import Any

from whichbits.study.arrivals import WORDS
from whichbits.study.model import Study


@cache
def study_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a study file as people write it."""
    schema = Study.model_json_schema()
    # An arm may take its model from every_arm, so a file's arm need not name one.
    schema["$defs"]["Arm"]["required"].remove("model")
    concurrency = {"type": "integer", "exclusiveMinimum": 0, "description": "A concurrency."}
    load = {"anyOf": [concurrency, {"$ref": "#/$defs/Load"}]}
    found = {"const": "auto", "description": "Found by the study itself."}
    schema["properties"]["loads"] = {
        "anyOf": [{"type": "array", "minItems": 1, "items": load}, found, {"$ref": "#/$defs/AutoLoads"}],
        "description": schema["properties"]["loads"]["description"],
    }
    profiled = schema["$defs"]["ProfileWindow"]["properties"]["loads"]["anyOf"]
    next(option for option in profiled if option["type"] == "array")["items"] = load
    for name in ("profile", "quality"):
        schema["properties"][name]["anyOf"].insert(0, {"type": "boolean"})
    _accept_shorter_forms(schema)
    _accept_a_word_for_arrivals(schema["properties"])
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    return schema


def _accept_shorter_forms(schema: dict[str, Any]) -> None:
    """Add what is read like a longer form: one GPU or address for a list of one, numbers in an environment."""
    for kind in ("Arm", "ArmDefaults"):
        arm = schema["$defs"][kind]["properties"]
        arm["gpus"]["anyOf"].insert(0, {"type": "integer", "minimum": 0})
        arm["environment"]["additionalProperties"] = {
            "anyOf": [{"type": kind} for kind in ("string", "number", "boolean")]
        }
    for name in ("urls", "logs"):
        field = schema["$defs"]["ServersThatRun"]["properties"][name]
        field["anyOf"] = [{"type": "string"}, {key: field.pop(key) for key in ("type", "items")}]


def _accept_a_word_for_arrivals(properties: dict[str, Any]) -> None:
    described = {key: properties["arrivals"].pop(key) for key in ("default", "description", "title")}
    words = {"type": "string", "enum": list(WORDS), "description": "A kind that needs no other key."}
    properties["arrivals"] = {"anyOf": [words, properties["arrivals"]], **described}


def keys_at(schema: dict[str, Any], location: Iterable[str | int]) -> list[str]:
    """Return the keys that may stand at ``location``, a path of keys, list positions and union tags."""
    nodes = [schema]
    for part in location:
        nodes = [below for node in nodes for below in _step(schema, node, part)]
    return sorted({key for node in nodes for key in node.get("properties", {})})


def _step(schema: dict[str, Any], node: dict[str, Any], part: str | int) -> list[dict[str, Any]]:
    if part in node.get("properties", {}):
        return _resolve(schema, node["properties"][part])
    if "discriminator" in node:
        return _resolve(schema, {"$ref": node["discriminator"]["mapping"].get(part, "")})
    inside = "items" if isinstance(part, int) else "additionalProperties"
    return _resolve(schema, node[inside]) if isinstance(node.get(inside), dict) else []


def _resolve(schema: dict[str, Any], node: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the kinds of value that may stand where ``node`` does, references followed."""
    if "anyOf" in node:
        return [kind for option in node["anyOf"] for kind in _resolve(schema, option)]
    name = node.get("$ref", "").removeprefix("#/$defs/")
    return [schema["$defs"].get(name, node) if name else node]


if __name__ == "__main__":
    print(json.dumps(study_schema(), indent=2))
