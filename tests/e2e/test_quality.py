"""Quality on the real engine: a reference, itself again, fewer bits, and a broken arm, by both commands."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.bigram_model import ALPHABET, write_bigram_model
from tests.e2e.tool import AS_INSTALLED, good_exit, run_of, tool
from whichbits.record.run import Run


@dataclass(frozen=True)
class Outcome:
    code: int
    said: str
    summary: dict[str, Any]
    run: Run


def write_study(folder: Path, **changes: Any) -> Path:
    """A study of four arms; its texts are alphabets, which the model knows by heart."""
    texts = folder / "texts"
    texts.mkdir()
    letters = "\n".join(f"%% from_{at}\n{ALPHABET[at:]}{ALPHABET[:at]}" for at in range(8))
    (texts / "letters.txt").write_text(letters, encoding="utf-8")
    sound, broken = write_bigram_model(folder / "sound.gguf"), write_bigram_model(folder / "broken.gguf", broken=True)
    study = {
        "name": "answers",
        "every_arm": {"engine": "embedded", "model": str(sound), "options": {"threads": 1}},
        "arms": {
            "fp16": {"weight_format": "fp16"},
            "again": {"weight_format": "fp16"},
            "w4a16": {"weight_format": "w4a16"},
            "shuffled": {"weight_format": "fp16", "model": str(broken)},
        },
        "traffic": {"kind": "random", "input_tokens": 16, "output_tokens": 8},
        "token_ids": [2, 250],
        "loads": [1],
        "cell": {"requests": 6},
        "quality": {"texts": str(texts), "answer_tokens": 32},
        "output": str(folder / "runs"),
    }
    path = folder / "study.yaml"
    path.write_text(json.dumps(study | changes))
    return path


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    folder = tmp_path_factory.mktemp("quality")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WHICHBITS_CACHE", str(folder / "cache"))
        with tool(folder, "quality", write_study(folder), "--json", program=AS_INSTALLED) as asking:
            code = asking.wait()
            assert asking.leaves_nothing_behind()
            assert asking.stdout, asking.stderr
            return Outcome(code, asking.stderr, json.loads(asking.stdout), run_of(folder))


def arms(outcome: Outcome) -> dict[str, Any]:
    return {arm["arm"]: arm for arm in outcome.summary["quality"]["arms"]}


def test_each_arm_gets_its_verdict(outcome: Outcome) -> None:
    assert outcome.code == 0, outcome.said
    assert {name: arm["verdict"] for name, arm in arms(outcome).items()} == {
        "fp16": "reference",
        "again": "same",
        "w4a16": "differs",
        "shuffled": "broken",
    }


def test_the_model_knows_the_alphabet_and_a_broken_one_does_not(outcome: Outcome) -> None:
    perplexity = {name: arm["overall"]["perplexity"] for name, arm in arms(outcome).items()}

    assert perplexity["fp16"] == perplexity["again"] < 2
    assert perplexity["w4a16"] == pytest.approx(perplexity["fp16"], rel=0.05)
    assert perplexity["shuffled"] > 100


def test_the_reference_does_not_differ_from_itself(outcome: Outcome) -> None:
    noise = outcome.summary["quality"]["noise"]

    assert noise["distance"]["typical_difference"] == 0.0
    assert noise["answers"] == noise["identical_answers"] == 24
    assert arms(outcome)["again"]["answers"]["identical"] == 24


def test_findings_name_the_broken_arm_and_what_is_not_known(outcome: Outcome) -> None:
    found = {finding["code"]: finding["text"] for finding in outcome.summary["findings"]}

    assert found["quality_broken"].startswith("shuffled is broken as served")
    assert found["quality_same"].startswith("again answers as fp16 does")
    assert "KL divergence and top-1 agreement need the likeliest tokens" in found["quality_gap_only"]


def test_the_report_shows_what_the_bits_cost(outcome: Outcome) -> None:
    for name in ("report.html", "report.md"):
        page = (outcome.run.folder / name).read_text(encoding="utf-8")
        assert "What the bits cost in answers" in page
        assert "Distance to the reference" in page
    assert "shuffled against fp16: broken, whatever its size and speed." in " ".join(outcome.said.split())


def test_a_study_asks_after_its_cells_recommends_no_broken_arm_and_resumes_what_is_missing(tmp_path: Path) -> None:
    arms = ("fp16", "shuffled")
    study = json.loads(write_study(tmp_path).read_text())
    chosen = {name: arm for name, arm in study["arms"].items() if name in arms}
    path = tmp_path / "two.yaml"
    path.write_text(json.dumps(study | {"arms": chosen, "quality": study["quality"] | {"answer_tokens": 0}}))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WHICHBITS_CACHE", str(tmp_path / "cache"))
        with tool(tmp_path, "run", path, "--json", program=AS_INSTALLED) as running:
            code = running.wait()
            summary = json.loads(running.stdout)
        run = run_of(tmp_path)
        (run.folder / "quality" / "fp16.tokens.parquet").unlink()
        with tool(tmp_path, "run", "--resume", run.folder, "--json", program=AS_INSTALLED) as resumed:
            assert resumed.wait() == code, resumed.stderr
            again = json.loads(resumed.stdout)

    assert code == good_exit(run)
    assert [cell["state"] for cell in summary["cells"]] == ["done", "done"]
    assert summary["quality"]["arms"][1]["verdict"] == "broken"
    assert summary["recommendation"] == []
    assert summary["answer"] is None
    assert again == summary


def test_a_run_without_quality_is_asked_later(outcome: Outcome, tmp_path: Path) -> None:
    """What the run holds is kept: only the arm whose answers are missing is served again."""
    tokens = outcome.run.folder / "quality" / "again.tokens.parquet"
    before = tokens.read_bytes()
    others = {path: path.stat().st_mtime_ns for path in tokens.parent.iterdir() if path != tokens}
    tokens.unlink()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WHICHBITS_CACHE", str(outcome.run.folder.parents[1] / "cache"))
        with tool(tmp_path, "quality", outcome.run.folder, "--plain", program=AS_INSTALLED) as asking:
            assert asking.wait() == 0, asking.stderr
            assert "again: asking" in asking.stderr
            assert "w4a16: asking" not in asking.stderr

    assert tokens.read_bytes() == before
    assert all(path.stat().st_mtime_ns == time for path, time in others.items() if path.name != "again.answers.parquet")
