"""A published study cut down to seconds: the same arms, loads' kinds and rules, mocks for servers, and few requests."""

from pathlib import Path
from typing import Any

import yaml

from whichbits.study.arm import EngineSettings

REQUESTS = 6
FASTER = 10.0
"""Requests a second come so much faster than in the study."""
OF_REAL_SERVERS = {"gpus", "python", "environment", "target", "served_model_name", "engine"}
MOCK = {"ttft_ms": 3, "itl_ms": 2}
SHORT = {"input_tokens": 16, "output_tokens": 6, "prefix_tokens": 64, "suffix_tokens": 16, "prefixes": 2}


def cut_down(path: Path, output: Path) -> Path:
    """Write the study for mocks, with runs below ``output``, and return its path."""
    study = yaml.safe_load(path.read_text())
    arms = {name: _mocked(study.get("every_arm", {}) | arm) for name, arm in study["arms"].items()}
    small = {
        "every_arm": {},
        "arms": {name: arm | {"options": MOCK | {"seed": at}} for at, (name, arm) in enumerate(arms.items())},
        "traffic": {key: SHORT.get(key, value) for key, value in study["traffic"].items()},
        "loads": _few(study["loads"]),
        "cell": {"requests": REQUESTS},
        "warm_up": {"at_least_requests": 2, "at_most_requests": 4},
        "output": str(output / "runs"),
    }
    if isinstance(study["loads"], dict):
        small |= {"budget": "10s", "precision": 2.0, "repeats": "auto"}
    else:
        small["repeats"] = 1
    written = output / path.name
    written.write_text(yaml.safe_dump({key: value for key, value in study.items() if key != "profile"} | small))
    return written


def _mocked(arm: dict[str, Any]) -> dict[str, Any]:
    """Return an arm without what only real servers have; a mock of each replica has its own cache."""
    gone = OF_REAL_SERVERS | set(EngineSettings.model_fields) - {"enable_prefix_caching", "max_num_seqs"}
    of_target = len(arm["target"]["urls"]) if "target" in arm else 1
    replicas = {} if of_target == 1 else {"replicas": of_target}
    return {key: value for key, value in arm.items() if key not in gone} | {"engine": "mock"} | replicas


def _few(loads: Any) -> Any:
    """Return the lowest and the highest load, each of its kind and light enough; a search gets a short range."""
    match loads:
        case {"auto": dict()}:
            return {"auto": {"from": 1, "to": 4}}
        case [only]:
            return [_light(only)]
        case [first, *_, last]:
            return [_light(first) if _light(first) != _light(last) else 1, _light(last)]
        case _:
            message = f"loads of an unknown form: {loads}"
            raise AssertionError(message)


def _light(load: Any) -> Any:
    if isinstance(load, int):
        return min(load, REQUESTS)
    return load | {"request_rate": load["request_rate"] * FASTER}
