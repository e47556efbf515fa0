"""What can be named as a source, and which arms of several sources belong together."""

import json
from pathlib import Path

import pytest

from tests.analyze.make_side import bench
from tests.record.importers.make_bench import bench_record
from tests.record.importers.make_results import inference_perf, written
from tests.record.make_run import PowerLaw, SyntheticArm, make_run
from whichbits.analyze.comparison.comparison import compare_pair
from whichbits.analyze.comparison.pairs import pairs
from whichbits.analyze.comparison.sources import named_path, read_source
from whichbits.analyze.summarize import summarize, summary_json
from whichbits.errors import BadInput
from whichbits.record.run import Run


def names(*arguments: str) -> list[tuple[str, str]]:
    found = pairs([read_source(argument) for argument in arguments])
    return [(baseline.name, candidate.name) for baseline, candidate in found]


def test_arms_of_one_run_are_held_against_its_first(tmp_path: Path) -> None:
    assert names(str(make_run(tmp_path))) == [("bf16", "w4a16")]


def test_arms_of_two_runs_are_paired_by_name(tmp_path: Path) -> None:
    before, after = make_run(tmp_path / "a"), make_run(tmp_path / "b")

    assert names(f"before={before}", f"after={after}") == [
        ("before:bf16", "after:bf16"),
        ("before:w4a16", "after:w4a16"),
    ]


def test_sources_of_one_arm_are_paired_whatever_they_are_called(tmp_path: Path) -> None:
    files = [str(written(tmp_path, f"{name}.json", bench_record(model_id=name))) for name in ("x", "y", "z")]

    assert names(*files) == [("x", "y"), ("x", "z")]


def test_sources_of_one_name_are_numbered(tmp_path: Path) -> None:
    files = [str(written(tmp_path / folder, "result.json", bench_record())) for folder in ("a", "b")]

    assert names(*files) == [("result", "result (2)")]


def test_a_folder_of_results_is_a_source(tmp_path: Path) -> None:
    for load in (1, 8):
        written(tmp_path / "a", f"c{load}.json", bench_record(max_concurrency=load))
    written(tmp_path / "a", "notes.txt", "not a result")

    (side,) = read_source(str(tmp_path / "a")).sides
    assert side.loads == ((1, None), (8, None))
    assert side.facts["tool"] == "vllm bench serve"


def test_files_that_name_no_arm_are_those_of_their_folder(tmp_path: Path) -> None:
    for rate in (1.0, 4.0):
        written(tmp_path / "w4a16", f"stage_{rate:g}.json", inference_perf(requested_rate=rate))

    (side,) = read_source(str(tmp_path / "w4a16")).sides
    assert (side.name, side.loads) == ("w4a16", ((None, 1.0), (None, 4.0)))


def test_one_file_may_hold_several_arms(tmp_path: Path) -> None:
    lines = "\n".join(json.dumps(bench_record(label=label)) for label in ("bf16", "w4a16"))

    assert names(str(written(tmp_path, "all.json", lines))) == [("bf16", "w4a16")]


def test_a_summary_stands_for_its_run(tmp_path: Path) -> None:
    arm = {"bf16": SyntheticArm(tpot_ms=PowerLaw(10.0, 0.2))}
    folder = make_run(tmp_path, arm, loads=(32,), per_stream=40)
    kept = written(tmp_path / "kept", "summary.json", summary_json(summarize(Run.load(folder))).decode())
    (run,), (summary,) = read_source(str(folder)).sides, read_source(str(kept)).sides

    assert read_source(str(kept)).name == "kept"
    assert summary.cells == run.cells
    rows = {each.metric: each for each in compare_pair((run, summary)).rows}
    assert rows["tpot_ms.p50"].ratio == pytest.approx(1.0)
    assert rows["tpot_ms.p50"].paired is False


def test_a_summary_s_interval_is_its_noise(tmp_path: Path) -> None:
    result = written(tmp_path, "result.json", bench(lambda index: 0.01 + 0.002 * (index * 37 % 101)))
    (side,) = read_source(str(result)).sides
    (cell,) = side.cells
    # 1.96 standard errors either side of 10 ms, of 5 % each.
    wide = {"tpot_ms.p50": (10.0 * 1.05**-1.96, 10.0 * 1.05**1.96)}
    told = [type(side)(name, (type(cell)(**{**vars(cell), "intervals": wide}),)) for name in ("a", "b")]
    found = {each.metric: each for each in compare_pair((told[0], told[1])).rows}["tpot_ms.p50"]

    # Both sides' variances and the assumed 2 %, times the 97.5 % point of t with 4 degrees of freedom.
    assert found.high == pytest.approx(2.718281828 ** (2.776 * (2 * 0.04879**2 + 0.02**2) ** 0.5), rel=1e-3)


@pytest.mark.parametrize(
    ("argument", "name", "path"),
    [("a/b.json", None, "a/b.json"), ("x=a/b.json", "x", "a/b.json"), ("=b.json", None, "=b.json")],
)
def test_a_source_may_be_named(argument: str, name: str | None, path: str) -> None:
    assert named_path(argument) == (name, Path(path))


def test_a_path_with_an_equals_sign_is_a_path(tmp_path: Path) -> None:
    path = written(tmp_path, "tp=2.json", bench_record())

    assert named_path(str(path)) == (None, path)


def code_of(*arguments: str) -> str:
    with pytest.raises(BadInput) as caught:
        names(*arguments)
    return caught.value.code


def test_nothing_in_common_is_refused(tmp_path: Path) -> None:
    run = str(make_run(tmp_path))
    one = str(written(tmp_path, "one.json", bench_record()))
    other = str(written(tmp_path, "other.json", bench_record(max_concurrency=512)))

    assert code_of(one) == "nothing_to_compare"
    assert code_of(run, one) == "nothing_to_compare"
    assert code_of(one, other) == "no_shared_load"


def test_what_is_nothing_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    broken = written(tmp_path, "summary.json", '{"schema_version": 1, "load_unit": "concurrency", "crossovers": ')

    assert code_of(str(tmp_path / "empty")) == "no_results"
    assert code_of(str(tmp_path / "missing")) == "unreadable_file"
    assert code_of(str(broken)) == "summary_broken"


def test_a_summary_is_the_same_measurement_as_itself_and_as_no_other(tmp_path: Path) -> None:
    paths = []
    for name, per_stream in (("one", 4), ("other", 5)):
        folder = make_run(tmp_path / name, loads=(4,), per_stream=per_stream)
        content = summary_json(summarize(Run.load(folder))).decode()
        paths.append(str(written(tmp_path / f"{name}-kept", "summary.json", content)))
    (one, *_), (other, *_) = (read_source(path).sides for path in paths)

    assert compare_pair((one, read_source(paths[0]).sides[0])).identical
    assert not compare_pair((one, other)).identical
