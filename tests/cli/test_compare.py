"""``whichbits compare``, ``import`` and ``export``: what they print, write and exit with."""

import json
from pathlib import Path

import pytest

from tests.analyze.make_side import bench
from tests.record.importers.make_bench import bench_record
from tests.record.importers.make_results import written
from tests.record.make_run import make_run
from whichbits.cli import exit_code

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    return [
        str(written(tmp_path, name, bench(lambda _, tpot=tpot: tpot)))  # type: ignore[misc]
        for name, tpot in (("before.json", 0.010), ("after.json", 0.012))
    ]


def test_the_table_goes_to_people(files: list[str], capsys: Captured) -> None:
    assert exit_code(["compare", *files]) == 0
    assert "after against before" in capsys.readouterr().out


def test_json_is_the_only_thing_on_stdout(files: list[str], capsys: Captured) -> None:
    assert exit_code(["compare", *files, "--json", "--fail-on", "median_tpot +30%"]) == 0

    told = capsys.readouterr()
    found = json.loads(told.out)
    assert (found["schema_version"], found["margin"]) == (1, 0.03)
    (pair,) = found["pairs"]
    rows = {row["metric"]: row for row in pair["rows"]}
    assert (pair["baseline"], pair["candidate"]) == ("before", "after")
    assert rows["tpot_ms.p50"]["ratio"] == pytest.approx(1.2)
    assert rows["tpot_ms.p50"]["verdict"] == "worse"
    passed = {"gate": "median_tpot +30%", "verdict": "passed", "rows": [], "compared": 1, "missed": []}
    assert found["gates"] == [passed]
    assert "after against before" in told.err


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--fail-on", "median_tpot +10%"], 5),
        (["--fail-on", "median_tpot +15%"], 0),
        (["--fail-on", "median_tpot +15%", "--fail-on-uncertain"], 5),
        (["--fail-on", "median_tpot +30%", "--fail-on-uncertain"], 0),
        (["--fail-on", "median_tpot +30%", "--fail-on", "p90_tpot +10%"], 5),
        (["--fail-on", "goodput -10%"], 2),
        (["--fail-on", "goodput -10%", "--fail-on-uncertain"], 5),
        (["--fail-on", "goodput -10%", "--fail-on", "median_tpot +10%"], 5),
        (["--fail-on", "speed +10%"], 2),
        (["--margin", "-3"], 2),
    ],
)
def test_limits_decide_the_exit_code(files: list[str], options: list[str], code: int) -> None:
    assert exit_code(["compare", *files, *options]) == code


def test_a_limit_may_stand_before_the_sources(files: list[str]) -> None:
    assert exit_code(["compare", "--fail-on", "median_tpot +10%", *files]) == 5


def test_a_margin_is_a_percentage(files: list[str], capsys: Captured) -> None:
    assert exit_code(["compare", *files, "--json", "--margin", "25"]) == 0

    (pair,) = json.loads(capsys.readouterr().out)["pairs"]
    verdicts = {row["metric"]: row["verdict"] for row in pair["rows"]}
    assert verdicts["tpot_ms.p50"] == "negligible"


def test_markdown_is_written_and_appended_to_a_step_s_summary(
    files: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = written(tmp_path, "step.md", "# Before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(step))

    assert exit_code(["compare", *files, "--summary", "--markdown", str(tmp_path / "out.md")]) == 0
    page = (tmp_path / "out.md").read_text()
    assert page.startswith("### after against before")
    assert step.read_text() == "# Before\n" + page


def test_a_failed_limit_is_written_all_the_same(files: list[str], tmp_path: Path) -> None:
    out = tmp_path / "out.md"

    assert exit_code(["compare", *files, "--fail-on", "median_tpot +10%", "--markdown", str(out)]) == 5
    assert "FAILED" in out.read_text()


def test_without_a_step_there_is_no_summary(
    files: list[str], monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)

    assert exit_code(["compare", *files, "--summary"]) == 2
    assert "no_step_summary" in capsys.readouterr().err


def test_a_page_that_cannot_be_written_is_bad_input(files: list[str], tmp_path: Path, capsys: Captured) -> None:
    assert exit_code(["compare", *files, "--markdown", str(tmp_path / "none" / "out.md")]) == 2
    assert "output_unwritable" in capsys.readouterr().err


def test_nothing_named_is_bad_input(capsys: Captured) -> None:
    for verb in ("compare", "import"):
        assert exit_code([verb]) == 2
        assert "no_file" in capsys.readouterr().err


def test_import_makes_a_run_with_its_report(tmp_path: Path, capsys: Captured) -> None:
    for arm, base in (("bf16", 10.0), ("w4a16", 5.0)):
        for load, slower in ((1, 1.0), (64, 4.0 if arm == "w4a16" else 1.2)):
            told = bench_record(max_concurrency=load, median_tpot_ms=base * slower)
            written(tmp_path / arm, f"c{load}.json", told)
    arguments = [f"{arm}={tmp_path / arm}" for arm in ("bf16", "w4a16")]

    assert exit_code(["import", *arguments, "--into", str(tmp_path / "runs"), "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["source"] == "imported"
    assert [cell["arm"] for cell in summary["cells"]] == ["bf16", "bf16", "w4a16", "w4a16"]
    (crossover,) = [each for each in summary["crossovers"] if each["metric"] == "tpot_ms.p50"]
    # ln(10 / 5) and ln(12 / 20) lie on either side of 0: they cross, and the interval spans the two loads.
    assert crossover["verdict"] == "crosses"
    assert (crossover["leader_low_load"], crossover["leader_high_load"]) == ("w4a16", "bf16")
    (folder,) = (tmp_path / "runs").iterdir()
    assert {"run.json", "summary.json", "report.md", "report.html"} <= {path.name for path in folder.iterdir()}


def test_export_names_the_files_it_wrote(tmp_path: Path, capsys: Captured) -> None:
    folder = make_run(tmp_path, loads=(4,))

    assert exit_code(["export", str(folder), "--format", "vllm-bench"]) == 0
    paths = [Path(line) for line in capsys.readouterr().out.splitlines()]
    assert [path.name for path in paths] == ["0000-bf16-c4-r0.json", "0001-w4a16-c4-r0.json"]
    assert all(path.is_file() and path.parent == folder / "exports" / "vllm-bench" for path in paths)
    assert exit_code(["export", str(folder), "--format", "csv"]) == 2
