"""A plan is the same in every process: no hash of Python's, no clock, no order of a set has a part in it."""

import json
import os
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

from tests.traffic.studies import WORDS, file_of, planned
from tests.traffic.test_sharegpt import numbered
from tests.traffic.test_trace import mooncake

GAMMA = {"kind": "gamma", "burstiness": 0.4}
_SCRIPT = "import sys; from tests.traffic.test_determinism import digest; print(digest(sys.argv[1]))"


def digest(folder: str) -> str:
    """Every kind of plan there is, in one number."""
    cells: tuple[tuple[dict[str, Any], dict[str, Any]], ...] = (
        ({"kind": "sessions", "range_ratio": 0.4, "think": "log_normal"}, {"arrivals": GAMMA}),
        ({"kind": "shared_prompt"}, {"arrivals": {"kind": "ramp"}}),
        ({"kind": "trace", "path": f"{folder}/trace"}, {"arrivals": "trace"}),
        ({"kind": "sharegpt", "path": f"{folder}/chats", "turns": "all"}, {"request": WORDS}),
    )
    plans = (planned(traffic, 40, rate=3.0, **more) for traffic, more in cells)
    return sha256("".join(repr(request) for plan in plans for request in plan).encode()).hexdigest()


def test_a_process_with_another_hash_seed_plans_the_same(tmp_path: Path) -> None:
    file_of(tmp_path, mooncake(), "trace")
    file_of(tmp_path, json.dumps(numbered(9)), "chats")
    environment = os.environ | {"PYTHONHASHSEED": "77", "PYTHONPATH": os.pathsep.join(["src", ".", *sys.path])}
    command = [sys.executable, "-c", _SCRIPT, str(tmp_path)]
    other = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=600)

    assert other.stdout.strip() == digest(str(tmp_path))
