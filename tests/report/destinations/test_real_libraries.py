"""MLflow and W&B themselves: a run is sent as a user sends it, and what arrived is read back by their own means.

Each library works in a process of its own, since both start threads and keep state of the whole process.
"""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.record.make_run import TWO_ARMS, make_run

LOADS = (2, 8)

READ_MLFLOW = """
import json, sys
import mlflow
mlflow.set_tracking_uri(sys.argv[1])
client = mlflow.MlflowClient()
found = client.search_runs([client.get_experiment_by_name("serving").experiment_id])
print(json.dumps([
    {
        "name": run.info.run_name, "status": run.info.status, "id": run.info.run_id,
        "parent": run.data.tags.get("mlflow.parentRunId"), "params": run.data.params,
        "files": sorted(file.path for file in client.list_artifacts(run.info.run_id)),
        "tpot": [(each.step, each.value) for each in client.get_metric_history(run.info.run_id, "tpot_ms.p50")],
    }
    for run in found
]))
"""

READ_WANDB = """
import json, struct, sys
from pathlib import Path
from wandb.proto import wandb_internal_pb2


def records(data):  # LevelDB's log format behind a head of 7 bytes: blocks of 32 KB, records in pieces
    place, whole = 7, b""
    while place + 7 <= len(data):
        if 32768 - place % 32768 < 7:
            place += 32768 - place % 32768
            continue
        _, length, kind = struct.unpack("<IHB", data[place : place + 7])
        whole += data[place + 7 : place + 7 + length]
        place += 7 + length
        if kind in (1, 4):
            yield wandb_internal_pb2.Record.FromString(whole)
            whole = b""


runs = []
for file in sorted(Path(sys.argv[1]).glob("wandb/offline-run-*/*.wandb")):
    told = {"rows": []}
    for record in records(file.read_bytes()):
        if record.HasField("run"):
            told |= {"name": record.run.display_name, "group": record.run.run_group, "project": record.run.project}
            told["config"] = {each.key: json.loads(each.value_json) for each in record.run.config.update}
        elif record.HasField("history"):
            row = {".".join(each.nested_key) or each.key: json.loads(each.value_json) for each in record.history.item}
            told["rows"].append((row["load"], row["tpot_ms.p50"]))
        elif record.HasField("exit"):
            told["exit"] = record.exit.exit_code
    runs.append(told)
print(json.dumps(runs))
"""


def needs(library: str) -> None:
    if find_spec(library) is None:
        pytest.skip(f"{library} is not installed: pip install 'whichbits[{library}]'")


def python(folder: Path, *arguments: str, **variables: str) -> str:
    told = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **variables},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert told.returncode == 0, told.stderr
    return told.stdout


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return make_run(tmp_path, TWO_ARMS, loads=LOADS)


def expected() -> dict[str, list[tuple[float, Any]]]:
    """Return the median TPOT of each arm at each load, which the runs are made from."""
    return {
        name: [(load, pytest.approx(arm.tpot_ms(load), rel=1e-3)) for load in LOADS] for name, arm in TWO_ARMS.items()
    }


def test_mlflow_has_a_run_an_arm_below_that_of_the_study(run: Path, tmp_path: Path) -> None:
    needs("mlflow")
    store = (tmp_path / "store").as_uri()
    # A store of files needs no more than mlflow-skinny, and MLflow asks for this word where it is wanted.
    variables = {"MLFLOW_ALLOW_FILE_STORE": "true"}
    command = ("-m", "whichbits", "export", str(run), "--to", "mlflow", "--endpoint", store, "--project", "serving")
    python(tmp_path, "-m", "whichbits", "report", str(run))
    python(tmp_path, *command, **variables)
    found: list[dict[str, Any]] = json.loads(python(tmp_path, "-c", READ_MLFLOW, store, **variables).splitlines()[-1])

    by_name = {each["name"]: each for each in found}
    assert by_name.keys() == {run.name, *TWO_ARMS}
    assert {each["status"] for each in found} == {"FINISHED"}
    study = by_name[run.name]
    assert study["files"] == ["report.html", "report.md", "summary.json"]
    for arm, series in expected().items():
        assert by_name[arm]["parent"] == study["id"]
        assert by_name[arm]["params"]["weight_format"] == TWO_ARMS[arm].weight_format
        assert [tuple(point) for point in by_name[arm]["tpot"]] == series


def test_wandb_has_a_run_an_arm_in_one_group(run: Path, tmp_path: Path) -> None:
    needs("wandb")
    command = ("-m", "whichbits", "export", str(run), "--to", "wandb", "--project", "serving")
    said = python(tmp_path, *command, WANDB_MODE="offline")
    found: list[dict[str, Any]] = json.loads(python(tmp_path, "-c", READ_WANDB, str(tmp_path)))

    assert said.splitlines() == [f"wandb: {arm}, {len(LOADS)} cells" for arm in TWO_ARMS]  # stdout is ours alone
    by_arm = {each["config"]["arm"]: each for each in found}
    assert by_arm.keys() == set(TWO_ARMS)
    for arm, series in expected().items():
        told = by_arm[arm]
        assert (told["name"], told["group"], told["project"]) == (f"{run.name} {arm}", run.name, "serving")
        assert (told["exit"], [tuple(row) for row in told["rows"]]) == (0, series)
