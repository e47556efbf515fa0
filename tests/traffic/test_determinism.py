"""A plan is the same in every process: no hash of Python's, no clock, no order of a set has a part in it."""

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.traffic.studies import file_of

_SCRIPT = """
import hashlib, sys
from tests.traffic.studies import WORDS, planned
from tests.traffic.test_trace import mooncake
folder = sys.argv[1]
digest = hashlib.sha256()
for traffic, more in (
    ({"kind": "sessions", "range_ratio": 0.4, "think": "log_normal"},
     {"arrivals": {"kind": "gamma", "burstiness": 0.4}}),
    ({"kind": "shared_prompt"}, {"arrivals": {"kind": "ramp"}}),
    ({"kind": "trace", "path": folder + "/trace"}, {"arrivals": "trace"}),
    ({"kind": "sharegpt", "path": folder + "/chats", "turns": "all"}, {"request": WORDS}),
):
    for request in planned(traffic, 40, rate=3.0, **more):
        digest.update(repr(request).encode())
print(digest.hexdigest())
"""


def _digest(folder: Path, hash_seed: str) -> str:
    environment = os.environ | {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join(["src", ".", *sys.path])}
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT, str(folder)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout.strip()


def test_processes_with_other_hash_seeds_plan_the_same(tmp_path: Path) -> None:
    from tests.traffic.test_sharegpt import numbered
    from tests.traffic.test_trace import mooncake

    file_of(tmp_path, mooncake(), "trace")
    file_of(tmp_path, json.dumps(numbered(9)), "chats")

    assert _digest(tmp_path, "1") == _digest(tmp_path, "77")
