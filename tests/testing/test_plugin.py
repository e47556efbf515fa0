"""The pytest plugin in a pytest of its own: what passes, what fails, and what it says."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.record.make_run import PowerLaw, SyntheticArm, make_run

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[2]
MODULE = "whichbits.testing.plugin"


def one_arm(tpot_ms: float) -> dict[str, SyntheticArm]:
    return {"w4a16": SyntheticArm(tpot_ms=PowerLaw(tpot_ms))}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    for name, tpot_ms in (("before", 10.0), ("after", 12.0)):
        make_run(folder / name, one_arm(tpot_ms), loads=(4,), repeats=2, per_stream=10).rename(folder / f"{name}-run")
    return folder


@pytest.fixture(autouse=True)
def nothing_else_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    """An installation may load the plugin by its entry point, or be older; here it is loaded by name."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


def outcome(pytester: pytest.Pytester, source: str, *options: str) -> pytest.RunResult:
    pytester.makepyfile(source)
    return pytester.runpytest_inprocess("-p", MODULE, "-p", "no:cacheprovider", *options)


def test_a_limit_that_holds_passes(pytester: pytest.Pytester, runs: Path) -> None:
    source = f"""
        import pytest

        @pytest.mark.whichbits(run={str(runs / "after-run")!r}, baseline={str(runs / "before-run")!r})
        def test_pace(whichbits_run):
            whichbits_run.assert_within("median_tpot +30%", sure=True)
            assert whichbits_run.run.summary["cells"][0]["tpot_ms"]["p50"] == pytest.approx(12)
    """
    outcome(pytester, source, "--strict-markers").assert_outcomes(passed=1)


def test_a_limit_that_is_broken_fails_with_its_row(pytester: pytest.Pytester, runs: Path) -> None:
    source = "def test_pace(whichbits_run): whichbits_run.assert_within('median_tpot +10%', 'p50_ttft +10%')"
    options = ("--whichbits-run", str(runs / "after-run"), "--whichbits-baseline", str(runs / "before-run"))
    result = outcome(pytester, source, *options)

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*median_tpot +10%: failed at c4, after-run against before-run: 10.0 to 12.0, +20.0 % (95 % interval *"]
    )
    result.stdout.no_fnmatch_line("*p50_ttft +10%: failed*")


def test_a_marker_wins_over_the_options(pytester: pytest.Pytester, runs: Path) -> None:
    source = f"""
        import pytest

        @pytest.mark.whichbits(run={str(runs / "before-run")!r})
        def test_which(whichbits_run):
            assert whichbits_run.path.name == "before-run"
            assert whichbits_run.baseline.name == "after-run"
    """
    options = ("--whichbits-run", "elsewhere", "--whichbits-baseline", str(runs / "after-run"))
    outcome(pytester, source, *options).assert_outcomes(passed=1)


def test_a_limit_that_can_be_held_against_nothing_fails(pytester: pytest.Pytester, runs: Path) -> None:
    source = f"""
        def test_goodput(whichbits_run):
            whichbits_run.assert_within("goodput -5%", baseline={str(runs / "before-run")!r})
    """
    result = outcome(pytester, source, "--whichbits-run", str(runs / "after-run"))

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*goodput -5%: can be held against nothing: no load has it*"])


def test_arms_of_one_run_are_held_against_the_first(pytester: pytest.Pytester, tmp_path: Path) -> None:
    arms = {"bf16": SyntheticArm(tpot_ms=PowerLaw(10.0)), "w4a16": SyntheticArm(tpot_ms=PowerLaw(15.0))}
    folder = make_run(tmp_path, arms, loads=(4,), repeats=2, per_stream=10)
    source = "def test_arms(whichbits_run): whichbits_run.assert_within('median_tpot +40%')"
    result = outcome(pytester, source, "--whichbits-run", str(folder))

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*w4a16 against bf16: 10.0 to 15.0, +50.0 %*"])


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("w4a16.tpot_median at load 4 < 11 ms", "*load 4 < 11 ms: false: w4a16.tpot_median at c4: 12.0*"),
        ("w4a16.output_throughput at load 4 > 100000", "*> 100000: false: *"),
        ("w4a16.goodput at load 4 > 1", "*> 1: not known: *"),
    ],
)
def test_a_statement_that_is_false_or_not_known_fails(
    pytester: pytest.Pytester, runs: Path, statement: str, says: str
) -> None:
    source = (
        f"def test_it(whichbits_run): whichbits_run.assert_holds('w4a16.tpot_median at load 4 < 13 ms', {statement!r})"
    )
    result = outcome(pytester, source, "--whichbits-run", str(runs / "after-run"))

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([says])
    result.stdout.no_fnmatch_line("*< 13 ms: *")


def test_where_the_client_was_the_limit_nothing_can_be_held(pytester: pytest.Pytester, tmp_path: Path) -> None:
    limited = {"w4a16": SyntheticArm(tpot_ms=PowerLaw(10.0), client="client_limited")}
    folder = make_run(tmp_path, limited, loads=(4,), per_stream=10)
    before = make_run(tmp_path / "before", one_arm(9.0), loads=(4,), per_stream=10)
    source = f"""
        def test_bound(whichbits_run):
            whichbits_run.assert_holds("w4a16.tpot_median at load 4 < 13 ms")

        def test_limit(whichbits_run):
            whichbits_run.assert_within("p50_tpot +10%", baseline={str(before)!r})
    """
    result = outcome(pytester, source, "--whichbits-run", str(folder))

    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["*w4a16 at c4, repeat 1: client limited (the client could not keep up*"])
    result.stdout.fnmatch_lines(["*not compared at c4*client limited (the client could not keep up*"])


def test_a_load_that_is_not_compared_passes_with_a_warning_and_never_for_sure(
    pytester: pytest.Pytester, tmp_path: Path
) -> None:
    before = make_run(tmp_path / "before", one_arm(10.0), loads=(4, 8), per_stream=100)
    after = make_run(tmp_path / "after", one_arm(10.1), loads=(4, 8), per_stream=100)
    limit_client(after, concurrency=8)
    source = f"""
        def test_limit(whichbits_run):
            whichbits_run.assert_within("p50_tpot +30%", baseline={str(before)!r})

        def test_surely(whichbits_run):
            whichbits_run.assert_within("p50_tpot +30%", baseline={str(before)!r}, sure=True)
    """
    result = outcome(pytester, source, "-W", "default", "--whichbits-run", str(after))

    result.assert_outcomes(passed=1, failed=1, warnings=1)
    result.stdout.fnmatch_lines(["*p50_tpot +30%: passed at 1 of 2 loads; not compared at c8 (*: client limited)*"])
    result.stdout.fnmatch_lines(["*p50_tpot +30%: holds at 1 of 2 loads; not compared at c8 (*: client limited)*"])


def limit_client(folder: Path, concurrency: int) -> None:
    """Say of one load of a run that the client set its pace."""
    told = json.loads((folder / "run.json").read_text())
    for cell in told["cells"]:
        if cell["concurrency"] == concurrency:
            cell["client"]["verdict"] = "client_limited"
    (folder / "run.json").write_text(json.dumps(told))


@pytest.mark.parametrize(
    ("call", "code"),
    [
        ("assert_within('speed +10%')", "gate_metric_unknown"),
        ("assert_holds('w4a16.tpot_median at load 99 < 5')", "statement_unreadable"),
        ("comparison('nowhere')", "unreadable_file"),
    ],
)
def test_a_refusal_is_its_message_without_our_frames(
    pytester: pytest.Pytester, runs: Path, call: str, code: str
) -> None:
    source = f"def test_it(whichbits_run): whichbits_run.{call}"
    result = outcome(pytester, source, "--whichbits-run", str(runs / "after-run"))

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"*[[]{code}]*"])
    result.stdout.no_fnmatch_line("*raise BadInput*")


def test_a_study_is_measured_once(pytester: pytest.Pytester) -> None:
    pytester.makefile(
        ".yaml",
        study="""
            name: gate
            every_arm: {engine: mock, options: {itl_ms: 2}}
            arms: {fp16: {weight_format: fp16, model: mock}}
            traffic: {kind: random, input_tokens: 8, output_tokens: 4}
            loads: [2]
            cell: {requests: 4}
            warm_up: {at_most_requests: 2}
        """,
    )
    source = """
        import pytest

        pytestmark = pytest.mark.whichbits(study="study.yaml")
        seen = []

        @pytest.mark.parametrize("time", [1, 2])
        def test_requests(whichbits_run, time):
            assert [cell["failed"] for cell in whichbits_run.run.summary["cells"]] == [0]
            seen.append(whichbits_run.path)
            assert len(set(seen)) == 1
    """
    outcome(pytester, source).assert_outcomes(passed=2)


@pytest.mark.parametrize(
    ("marker", "says"),
    [
        ("study='none.yaml'", "*ended with exit code 2*"),
        ("folder='runs'", "*does not know folder*"),
        ("", "*no run is named*"),
        ("'runs'", "*takes words only, such as run='runs'*"),
        ("run=3", "*takes paths, and run=3 is none*"),
        ("run='a', study='b'", "*names a run and a study*"),
    ],
)
def test_what_cannot_be_opened_is_said(pytester: pytest.Pytester, marker: str, says: str) -> None:
    source = f"import pytest\n@pytest.mark.whichbits({marker})\ndef test_it(whichbits_run): pass"
    result = outcome(pytester, source)

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([says])


@pytest.mark.parametrize(
    ("run", "asserted", "says"),
    [
        (None, "assert_within()", "*test_of_nothing*"),
        (None, "assert_holds()", "*test_of_nothing*"),
        (None, "assert_within(0.1)", "*gate_unreadable*"),
        (None, "assert_holds(3)", "*statement_unreadable*"),
        (None, "assert_within('p50_tpot +10%', baseline='a\\0b')", "*unreadable_file*"),
        ("a\0b", "assert_within('p50_tpot +10%')", "*unreadable_file*"),
        ("a\0b", "run", "*run_not_found*"),
    ],
)
def test_what_cannot_be_asserted_is_said_without_our_frames(
    pytester: pytest.Pytester, tmp_path: Path, run: str | None, asserted: str, says: str
) -> None:
    named = str(make_run(tmp_path, loads=(1,))) if run is None else run
    source = (
        f"import pytest\n@pytest.mark.whichbits(run={named!r})\ndef test_it(whichbits_run): whichbits_run.{asserted}"
    )
    result = outcome(pytester, source)

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([says])
    result.stdout.no_fnmatch_line("*gated_run.py*")


def test_the_plugin_loads_with_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    assert project["entry-points"]["pytest11"] == {"whichbits": MODULE}


def test_loading_the_plugin_loads_nothing_heavy() -> None:
    heavy = "{'numpy', 'pyarrow', 'pydantic', 'whichbits.analyze'} & set(sys.modules)"
    command = [sys.executable, "-c", f"import sys, {MODULE}; print({heavy})"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == "set()"
