"""llm-compressor as a program: what it is told, by a stand-in that writes what it would; untried with the real one."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.arms.models import write_model
from whichbits.arms.files.source import Source, open_source
from whichbits.arms.llm_compressor.launch import Interpreter, compress, insist_on_ready, job_of, recipe_text
from whichbits.arms.make import Plan, plan_arm
from whichbits.arms.recipe import Wishes, recipes_of
from whichbits.errors import ArmMismatch, BadInput

STAND_IN = """
import json, shutil, sys
from pathlib import Path

if sys.argv[1] == "-c":
    sys.exit({has_it})
job = json.loads(Path(sys.argv[2]).read_text())
Path({told!r}).write_text(json.dumps(job))
print("cuda ran out of memory", file=sys.stderr)
for file in Path({made!r}).iterdir():
    shutil.copy(file, job["output"])
sys.exit({code})
"""


@pytest.fixture
def source(tmp_path: Path) -> Source:
    return open_source(write_model(tmp_path / "model"))


def planned(source: Source, name: str, **wishes: Any) -> Plan:
    return plan_arm(source, recipes_of([name], Wishes(**wishes))[0])


def stand_in(tmp_path: Path, made: Path, *, code: int = 0, has_it: bool = True) -> Interpreter:
    """An interpreter that copies ``made`` instead of computing, and keeps what it was told."""
    script, texts = tmp_path / f"stand-in-{code}-{has_it}", tmp_path / "texts.txt"
    body = STAND_IN.format(told=str(tmp_path / "told.json"), made=str(made), code=code, has_it=int(not has_it))
    script.write_text(f"#!{sys.executable}\n{body}")
    script.chmod(0o755)
    texts.write_text("one text\nanother\n")
    return Interpreter(script, texts)


def made_by_us(tmp_path: Path, source: Source, name: str) -> Path:
    from whichbits.arms.make import make_arm

    return make_arm(source, planned(source, name), tmp_path / "ours", {}, 1).folder


def test_fp8_is_rounded_without_texts_and_integers_by_gptq(source: Source) -> None:
    fp8, int4 = (yaml.safe_load(recipe_text(planned(source, name))) for name in ("w8a8-fp8", "w4a16"))
    ((fp8_name, fp8_words),) = fp8["quant_stage"]["quant_modifiers"].items()
    ((int4_name, int4_words),) = int4["quant_stage"]["quant_modifiers"].items()

    assert (fp8_name, int4_name) == ("QuantizationModifier", "GPTQModifier")
    assert fp8_words["config_groups"]["group_0"]["input_activations"]["strategy"] == "token"
    assert int4_words["config_groups"]["group_0"]["weights"]["group_size"] == 128
    assert int4_words["ignore"] == ["lm_head"]


def test_the_program_is_told_all_and_its_work_is_proven(tmp_path: Path, source: Source) -> None:
    interpreter = stand_in(tmp_path, made_by_us(tmp_path, source, "w4a16"))
    plan = planned(source, "w4a16")
    insist_on_ready(plan, interpreter)
    arm = compress(source, plan, tmp_path / "arms", {}, interpreter)
    told = json.loads((tmp_path / "told.json").read_text())

    assert told["model"] == str(source.folder.resolve())
    assert told["calibration"] == str(tmp_path / "texts.txt")
    assert arm.typical_error < 0.13
    assert json.loads((arm.folder / "whichbits-arm.json").read_text())["how"] == "llm-compressor"
    assert not (arm.folder / "job.json").exists()


def test_rounding_to_nearest_is_given_no_texts(tmp_path: Path, source: Source) -> None:
    interpreter = stand_in(tmp_path, tmp_path)

    assert job_of(source, planned(source, "w8a8-fp8"), tmp_path, interpreter)["calibration"] is None


def test_an_arm_of_another_format_than_asked_for_is_refused(tmp_path: Path, source: Source) -> None:
    interpreter = stand_in(tmp_path, made_by_us(tmp_path, source, "w8a8-int8"))

    with pytest.raises((ArmMismatch, BadInput)) as refused:
        compress(source, planned(source, "w4a16"), tmp_path / "arms", {}, interpreter)
    assert refused.value.code == "arm_not_recognised"
    assert [path.name for path in (tmp_path / "arms").iterdir()] == ["w4a16.log"]


def test_its_last_words_explain_a_failure(tmp_path: Path, source: Source) -> None:
    interpreter = stand_in(tmp_path, source.folder, code=3)

    with pytest.raises(BadInput, match="exit code 3: cuda ran out of memory") as refused:
        compress(source, planned(source, "w8a8-fp8"), tmp_path / "arms", {}, interpreter)
    assert refused.value.code == "llm_compressor_failed"


def test_what_cannot_start_is_refused_before(tmp_path: Path, source: Source) -> None:
    ready, without = stand_in(tmp_path, tmp_path), stand_in(tmp_path, tmp_path, has_it=False)
    for name, wishes, interpreter, code in (
        ("w4a16", {"scheme": "gptq"}, ready, "arm_scheme_unknown"),
        ("w4a16", {}, Interpreter(ready.python, None), "arm_calibration_missing"),
        ("w8a8-fp8", {}, without, "llm_compressor_missing"),
        ("w8a8-fp8", {}, Interpreter(tmp_path / "nowhere", None), "llm_compressor_missing"),
    ):
        with pytest.raises(BadInput) as refused:
            insist_on_ready(planned(source, name, **wishes), interpreter)
        assert refused.value.code == code


def test_an_interpreter_that_hangs_is_let_go_of(
    tmp_path: Path, source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = tmp_path / "hanging"
    python.write_text("#!/bin/sh\nexec sleep 60\n")
    python.chmod(0o755)
    monkeypatch.setattr("whichbits.arms.llm_compressor.launch._SECONDS", 0.2)

    with pytest.raises(BadInput) as refused:
        insist_on_ready(planned(source, "w8a8-fp8"), Interpreter(python, None))
    assert refused.value.code == "python_silent"


def test_the_program_imports_nothing_of_whichbits() -> None:
    program = Path(sys.modules["whichbits.arms.llm_compressor.launch"].__file__ or "").with_name("program.py")

    assert "import whichbits" not in program.read_text()
    assert "from whichbits" not in program.read_text()
