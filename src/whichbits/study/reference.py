"""The keys of a study file as Markdown tables, made from the model, so that docs/study.md cannot drift.

``python -m whichbits.study.reference`` prints them; with a path, it writes them between that file's markers.
"""

import re
import sys
from pathlib import Path
from typing import Any

from whichbits.study.schema import study_schema

BEGIN, END = "<!-- reference: begin -->", "<!-- reference: end -->"

_HEADINGS = {
    "Study": "The top of the file",
    "ArmDefaults": "every_arm",
    "Arm": "An arm",
    "ServersThatRun": "target",
    "KubernetesService": "kubernetes",
    "ChatTraffic": "Chat traffic",
    "PrefixRepetitionTraffic": "Prefix repetition traffic",
    "RandomTraffic": "Random traffic",
    "SharedPromptTraffic": "Shared prompt traffic",
    "SessionsTraffic": "Sessions traffic",
    "ShareGptTraffic": "ShareGPT traffic",
    "JsonlTraffic": "JSONL traffic",
    "TraceTraffic": "Trace traffic",
    "RunTraffic": "Run traffic",
    "ConstantArrivals": "Constant arrivals",
    "PoissonArrivals": "Poisson arrivals",
    "GammaArrivals": "Gamma arrivals",
    "RampArrivals": "Ramp arrivals",
    "StagesArrivals": "Stages arrivals",
    "Stage": "A stage",
    "TraceArrivals": "Trace arrivals",
    "Load": "A load",
    "AutoLoads": "Auto loads",
    "LoadRange": "auto",
    "CellSize": "cell",
    "RequestForm": "request",
    "WarmUp": "warm_up",
    "ProfileWindow": "profile",
    "Quality": "quality",
    "ClientPlan": "client",
    "Slo": "slo",
    "Limits": "limits",
    "FleetPlan": "plan",
    "OfferedGpu": "An entry of gpus",
    "Day": "day",
}
_BOUNDS = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}


def reference() -> str:
    """Return one table for each section of the study file, from the top down."""
    schema = study_schema()
    sections = {"Study": schema} | schema["$defs"]
    return "\n\n".join(_section(heading, sections[name]) for name, heading in _HEADINGS.items())


def refreshed(page: str) -> str:
    """Return ``page`` with the current tables between its markers."""
    block = f"{BEGIN}\n\n{reference()}\n\n{END}"
    return re.sub(f"{BEGIN}.*{END}", lambda _: block, page, flags=re.DOTALL)


def _section(heading: str, section: dict[str, Any]) -> str:
    rows = ["| key | value | default | meaning |", "|---|---|---|---|"]
    for key, value in section["properties"].items():
        default = "required" if key in section.get("required", ()) else _default(value)
        rows.append(f"| `{key}` | {_kind(value)} | {default} | {value['description']} |")
    return "\n".join([f"### {heading}", "", section["description"].replace("``", "`"), "", *rows])


def _kind(value: dict[str, Any]) -> str:  # noqa: PLR0911 - a line a kind
    """Return what may stand there, in words; a section is a link to its table."""
    match value:
        case {"$ref": name}:
            return _link(name)
        case {"anyOf": options} | {"oneOf": options}:
            return " or ".join(_kind(option) for option in options if option.get("type") != "null")
        case {"const": word}:
            return f"`{word}`"
        case {"enum": words}:
            return ", ".join(f"`{word}`" for word in words)
        case {"prefixItems": items}:
            return f"list of {' and '.join(_kind(item) for item in items)}"
        case {"type": "array", "items": item}:
            return f"list of {_kind(item)}"
        case {"type": "object", "additionalProperties": inner}:
            return f"mapping to {_kind(inner)}"
        case _:
            bounds = [f"{sign} {value[key]:g}" for key, sign in _BOUNDS.items() if key in value]
            return ", ".join([value["type"], *bounds])


def _link(name: str) -> str:
    heading = _HEADINGS[name.removeprefix("#/$defs/")]
    return f"[{heading}](#{heading.lower().replace(' ', '-')})"


def _default(value: dict[str, Any]) -> str:
    if "$ref" in value:
        return "its own defaults"
    match value.get("default"):
        case None:
            return "–"  # noqa: RUF001 - what stands for nothing in every table of the project
        case {"kind": word}:
            return f"`{word}`"
        case list() as items:
            return f"`[{', '.join(map(str, items))}]`"
        case float() as number:
            return f"`{number:g}`"
        case other:
            return f"`{other}`"


if __name__ == "__main__":
    if sys.argv[1:]:
        page = Path(sys.argv[1])
        page.write_text(refreshed(page.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        print(reference())
