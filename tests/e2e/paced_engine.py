"""The paced server as an engine, and studies that it serves within a second or two."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.e2e import paced_server
from whichbits.errors import BadInput
from whichbits.record.schema import Fact
from whichbits.serve import arm as serving
from whichbits.serve import engine
from whichbits.serve.endpoint.control import ControlClient
from whichbits.serve.endpoint.profiler import ProfilerPaths
from whichbits.serve.engine import Launch, Place, Prepared
from whichbits.study.arm import Arm


def plug_in(patch: pytest.MonkeyPatch) -> None:
    """Let this process know the paced engine."""
    patch.setattr(engine, "ENGINES", {**engine.ENGINES, "paced": f"{__name__}:PacedEngine"})
    patch.setattr(serving, "PROFILERS", {"paced": ProfilerPaths("/start_profile", "/stop_profile")})


class PacedEngine:
    name = "paced"

    health_path = "/health"
    cache_reset_path = "/reset_prefix_cache"
    sleep_option = "sleeps"

    def measures_free_memory(self, arm: Arm) -> bool:
        return not arm.kv_cache_gib

    def check(self, arm: Arm) -> list[str]:
        if arm.model == "missing":
            raise BadInput("paced_model_unknown", "there is no model 'missing'", why="none is", fix="name another")
        return ["its files are wide"] if arm.model == "wide" else []

    def prepare(self, arm: Arm) -> Prepared:
        return Prepared(arm.model, {"linear_bits": Fact(16, "config.json")})

    def command(self, arm: Arm, prepared: Prepared, place: Place) -> Launch:
        options = arm.options | ({} if place.trace_folder is None else {"trace_folder": str(place.trace_folder)})
        return Launch((sys.executable, paced_server.__file__, str(place.port), json.dumps(options)), {})

    def served_model(self, arm: Arm) -> str:
        return "paced"

    async def ask_facts(self, control: ControlClient) -> dict[str, Fact]:
        return {}

    def read_facts(self, log_text: str) -> dict[str, Fact]:
        return {}

    def failure(self, log_text: str) -> str | None:
        return next((line for line in log_text.splitlines() if "Error: " in line), None)

    def verify(self, arm: Arm, checkpoint: dict[str, Fact], facts: dict[str, Fact]) -> list[str]:
        return [] if arm.weight_format == "fp16" else [f"{checkpoint['linear_bits'].value} bits were loaded"]


def write_study(folder: Path, arms: Mapping[str, Mapping[str, Any]], **changes: Any) -> Path:
    """Write a study of ``arms``, each given by its options for the paced server, and return its path.

    A warm-up takes 4 requests in at most two rounds of 2, a cell 4; c1 comes before c2.
    """
    study = {
        "name": "paced",
        "every_arm": {"engine": "paced", "model": "any"},
        "arms": {name: {"weight_format": "fp16", "options": dict(options)} for name, options in arms.items()},
        "traffic": {"kind": "random", "input_tokens": 8, "output_tokens": 4},
        "loads": [1, 2],
        "cell": {"requests": 4},
        "warm_up": {"at_least_requests": 2, "at_most_requests": 4},
        "output": str(folder / "runs"),
    }
    path = folder / "study.yaml"
    path.write_text(json.dumps(study | changes))  # JSON is YAML
    return path
