"""MLflow and W&B get a run an arm, with numbers over load; both are fakes here with the few calls that are used.

test_real_libraries holds the same calls against the libraries themselves.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, Self

import pytest

from tests.record.make_run import TWO_ARMS, PowerLaw, SyntheticArm, make_run
from tests.report.make_summary import make_summary
from whichbits.cli import exit_code
from whichbits.errors import BadInput
from whichbits.record.run import Run
from whichbits.report.destinations.arm_series import arm_series
from whichbits.report.destinations.destination import DESTINATIONS, send_run


class FakeMlflow(ModuleType):
    """The calls of mlflow's fluent API that are used, each as a line."""

    class MlflowException(Exception):  # noqa: N818 - its name there
        pass

    def __init__(self, broken: bool = False) -> None:
        super().__init__("mlflow")
        self.calls: list[tuple[Any, ...]] = []
        self.broken = broken

    def set_tracking_uri(self, uri: str) -> None:
        self.calls.append(("uri", uri))

    def get_tracking_uri(self) -> str:
        return "http://tracking"

    def set_experiment(self, experiment_name: str) -> None:
        if self.broken:
            raise self.MlflowException("no such host")
        self.calls.append(("experiment", experiment_name))

    @contextmanager
    def start_run(
        self, *, run_name: str, nested: bool = False, tags: dict[str, Any] | None = None
    ) -> Iterator[SimpleNamespace]:
        self.calls.append(("start", run_name, nested))
        yield SimpleNamespace(info=SimpleNamespace(run_id="abc"))
        self.calls.append(("end", run_name))

    def log_artifact(self, local_path: str) -> None:
        self.calls.append(("artifact", Path(local_path).name))

    def log_params(self, params: dict[str, Any]) -> None:
        self.calls.append(("params", params))

    def log_metrics(self, metrics: dict[str, float], step: int | None = None) -> None:
        self.calls.append(("metrics", step, metrics))


class FakeWandbRun:
    def __init__(self, calls: list[tuple[Any, ...]]) -> None:
        self.calls = calls

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.calls.append(("finish",))

    def define_metric(self, name: str, step_metric: str | None = None) -> None:
        self.calls.append(("define", name, step_metric))

    def log(self, data: dict[str, Any]) -> None:
        self.calls.append(("log", data))


class FakeWandb(ModuleType):
    class Error(Exception):
        pass

    def __init__(self, broken: bool = False) -> None:
        super().__init__("wandb")
        self.calls: list[tuple[Any, ...]] = []
        self.broken = broken

    def Settings(self, **settings: object) -> dict[str, object]:  # noqa: N802 - its name there
        return settings

    def init(self, **options: Any) -> FakeWandbRun:
        if self.broken:
            raise self.Error("no API key")
        self.calls.append(("init", options))
        return FakeWandbRun(self.calls)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    arms = TWO_ARMS | {"broken": SyntheticArm(tpot_ms=PowerLaw(10.0), failed_requests=1)}
    return Run.load(make_run(tmp_path_factory.mktemp("runs"), arms, loads=(4, 1), repeats=2))


@pytest.fixture
def mlflow(monkeypatch: pytest.MonkeyPatch) -> FakeMlflow:
    fake = FakeMlflow()
    monkeypatch.setitem(sys.modules, "mlflow", fake)
    return fake


@pytest.fixture
def wandb(monkeypatch: pytest.MonkeyPatch) -> FakeWandb:
    fake = FakeWandb()
    monkeypatch.setitem(sys.modules, "wandb", fake)
    return fake


def test_mlflow_gets_a_run_for_the_study_and_one_in_it_for_each_arm(run: Run, mlflow: FakeMlflow) -> None:
    (run.folder / "report.md").write_text("# Report\n")
    lines = list(send_run(run, "mlflow", "file:store", "chat"))

    assert mlflow.calls[:4] == [
        ("uri", "file:store"),
        ("experiment", "chat"),
        ("start", run.folder.name, False),
        ("artifact", "report.md"),
    ]
    assert [call[1:] for call in mlflow.calls if call[0] == "start"][1:] == [
        ("bf16", True),
        ("w4a16", True),
        ("broken", True),
    ]
    assert len(lines) == 3


def test_mlflow_s_steps_are_loads(run: Run, mlflow: FakeMlflow) -> None:
    list(send_run(run, "mlflow"))
    logged = [call[1:] for call in mlflow.calls if call[0] == "metrics"][:4]

    assert ("experiment", "synthetic") in mlflow.calls
    assert [step for step, _ in logged] == [1, 1, 4, 4]
    # bf16: 12 ms at one stream, 12 * 4**0.1 at four.
    assert [metrics["tpot_ms.p50"] for _, metrics in logged] == pytest.approx([12, 12, 12 * 4**0.1, 12 * 4**0.1])
    assert [metrics["repeat"] for _, metrics in logged] == [0, 1, 0, 1]


def test_wandb_gets_a_run_an_arm_with_load_as_its_axis(run: Run, wandb: FakeWandb) -> None:
    list(send_run(run, "wandb"))
    (_, options), *rest = wandb.calls[:7]

    assert options["project"] == "synthetic"
    assert options["group"] == run.folder.name
    assert options["config"]["weight_format"] == "bf16"
    assert "base_url" not in options["settings"]
    assert rest[:2] == [("define", "load", None), ("define", "*", "load")]
    assert [data["load"] for _, data in rest[2:]] == [1.0, 1.0, 4.0, 4.0][: len(rest) - 2]
    assert [call for call in wandb.calls if call == ("finish",)] == [("finish",)] * 3


def test_wandb_s_server_may_be_named(run: Run, wandb: FakeWandb) -> None:
    list(send_run(run, "wandb", "http://127.0.0.1:8080"))

    assert wandb.calls[0][1]["settings"]["base_url"] == "http://127.0.0.1:8080"


@pytest.mark.parametrize("name", ["mlflow", "wandb"])
def test_a_service_that_refuses_is_bad_input(run: Run, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, name, FakeMlflow(broken=True) if name == "mlflow" else FakeWandb(broken=True))
    with pytest.raises(BadInput) as caught:
        list(send_run(run, name))
    assert caught.value.code == "destination_refused"


@pytest.mark.parametrize("name", DESTINATIONS)
def test_a_library_that_is_not_there_is_named_with_its_extra(
    run: Run, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("mlflow", "wandb", "opentelemetry.exporter.otlp.proto.http"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(BadInput) as caught:
        list(send_run(run, name))
    assert caught.value.code == "destination_library_missing"
    assert f"whichbits[{name}]" in caught.value.fix


def test_loads_that_are_no_whole_numbers_have_ranks_as_steps() -> None:
    plain = make_summary(failed=None, arms=("fp16",))
    cells = (
        replace(cell, concurrency=None, request_rate=rate)
        for cell, rate in zip(plain.cells, (2.5, 0.5, 1.0), strict=False)
    )
    (series,) = arm_series(replace(plain, load_unit="request_rate", cells=tuple(cells)))

    assert [(point.step, point.numbers["load"]) for point in series.points] == [(1, 0.5), (2, 1.0), (3, 2.5)]


def test_what_cannot_be_sent_is_refused(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = make_run(tmp_path / "empty", loads=())
    for arguments, code in (
        ([str(run.folder), "--to", "prometheus"], "destination_unknown"),
        ([str(empty), "--to", "mlflow"], "nothing_to_export"),
        ([str(run.folder)], "export_undecided"),
        ([str(run.folder), "--to", "otlp", "--format", "vllm-bench"], "export_undecided"),
    ):
        assert exit_code(["export", *arguments]) == 2
        assert code in capsys.readouterr().err
