"""Study files do not rot: each passes a dry run without GPU or weights, and runs to its end against mocks."""

from pathlib import Path

import pytest

from tests.e2e.tool import good_exit, run_of, states
from tests.serve.vllm.interpreters import with_vllm
from tests.studies.cut_down import cut_down
from tests.studies.scripts import STUDIES, script
from whichbits.cli import exit_code
from whichbits.study.read import read_study

H200 = sorted((STUDIES / "h200").glob("*.yaml"))
PUBLISHED = [*H200, STUDIES / "seed-l4.yaml", STUDIES / "seed-a100.yaml"]


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ``models`` as make_arms.py writes them, and the logs that one study attaches to."""
    folder = tmp_path_factory.mktemp("checkpoints")
    make_arms = script("make_arms")
    for name, (shape, dtype, quantization) in make_arms.ARMS.items():
        make_arms.write_arm(folder / "models" / name, shape | {"vocab_size": 32000}, dtype, quantization)
    for name in ("replica-0.log", "replica-1.log"):
        (folder / name).touch()
    return folder


def test_there_are_studies() -> None:
    assert len(H200) >= 10


@pytest.mark.parametrize("path", PUBLISHED, ids=lambda path: path.stem)
def test_a_dry_run_passes(
    path: Path,
    checkpoints: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(checkpoints)
    monkeypatch.setenv("PYTHONPATH", with_vllm(tmp_path, "vllm", "0.25.1")["PYTHONPATH"])

    code = exit_code(["run", str(path), "--dry-run"])

    said = capsys.readouterr()
    assert code == 0, said.err
    assert f"{read_study(path).name}: {len(read_study(path).arms)} arms" in said.out


@pytest.mark.parametrize("path", PUBLISHED, ids=lambda path: path.stem)
def test_cut_down_it_runs_to_its_end_against_mocks(path: Path, tmp_path: Path) -> None:
    code = exit_code(["run", str(cut_down(path, tmp_path)), "--plain"])
    run = run_of(tmp_path)

    assert code == good_exit(run)
    assert set(states(run)) == {"done"}
    assert {cell.arm for cell in run.cells} == set(read_study(path).arms)
    assert not any(cell.failed for cell in run.cells)
