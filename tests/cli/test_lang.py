"""The language of what is printed: a flag of every verb that prints sentences, or one variable; JSON has none."""

import json
from pathlib import Path

import pytest

from tests.record.make_run import make_run
from whichbits.cli import LANGUAGE_VARIABLE, app, exit_code
from whichbits.cli.lang import asked_language

SPEAKING = [
    "run",
    "quality",
    "predict",
    "plan",
    "arms",
    "calibrate",
    "report",
    "doctor",
    "view",
    "inspect",
    "compare",
    "load",
    "import",
    "export",
]


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv(LANGUAGE_VARIABLE, raising=False)


@pytest.mark.parametrize("verb", SPEAKING)
def test_every_verb_that_prints_sentences_has_a_language(verb: str) -> None:
    names = [name for argument in app[verb].assemble_argument_collection() for name in argument.names]

    assert "--lang" in names


@pytest.mark.parametrize(
    ("words", "variable", "code"),
    [
        (["compare"], "", "en"),
        (["compare"], "ko", "ko"),
        (["compare", "--lang", "ko"], "", "ko"),
        (["compare", "--lang=ko"], "", "ko"),
        (["compare", "--lang", "en"], "ko", "en"),
        (["compare", "--lang"], "ko", "ko"),
        (["compare", "--lang", "fr"], "ko", "en"),
    ],
)
def test_the_flag_goes_before_the_variable(
    words: list[str], variable: str, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(LANGUAGE_VARIABLE, variable)

    assert asked_language(words).code == code


def test_the_language_of_the_machine_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LANG", "LC_ALL", "LANGUAGE"):
        monkeypatch.setenv(name, "ko_KR.UTF-8")

    assert asked_language(["compare"]).code == "en"


def test_errors_are_korean_with_their_codes(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["report", "nowhere", "--lang", "ko"]) == 2

    told = capsys.readouterr().err
    assert [line.split()[0] for line in told.splitlines()] == ["오류", "이유", "조치", "코드"]
    assert told.splitlines()[3].split()[1] == "run_not_found"
    assert "nowhere는 실행이 아닙니다" in told


def test_the_variable_speaks_for_every_verb(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(LANGUAGE_VARIABLE, "ko")
    folder = make_run(tmp_path)

    assert exit_code(["compare", str(folder), str(folder)]) == 0
    assert "비교할 것이 없습니다" in capsys.readouterr().out


def test_a_variable_without_a_value_asks_for_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(LANGUAGE_VARIABLE, "")

    assert exit_code(["report", "nowhere"]) == 2
    assert "nowhere is not a run" in capsys.readouterr().err


def test_a_variable_that_names_no_language_is_refused(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(LANGUAGE_VARIABLE, "kr")

    assert exit_code(["report", str(make_run(tmp_path))]) == 2
    assert "kr" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["compare", "doctor"])
def test_json_is_the_same_in_every_language(verb: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = str(make_run(tmp_path))
    words = [verb, folder, folder] if verb == "compare" else [verb, "--no-imports"]
    told = []
    for lang in ("en", "ko"):
        exit_code([*words, "--json", "--lang", lang])
        told.append(json.loads(capsys.readouterr().out))

    texts = [json.dumps(each, ensure_ascii=False) for each in told]
    assert not any("가" <= letter <= "힣" for letter in texts[1])
    assert told[0].keys() == told[1].keys()


@pytest.mark.parametrize("flag", [["--lang", "ko"], ["--lang=ko"]])
def test_the_language_may_stand_before_the_verb(flag: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code([*flag, "doctor", "--help"]) == 0
    before = capsys.readouterr()
    assert exit_code(["doctor", *flag, "--help"]) == 0

    assert before == capsys.readouterr()
    assert "사용법: whichbits doctor" in before.out


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--lang", "ko"], "unknown_command"),
        (["--lang"], "unknown_command"),
        (["--lang", "fr", "doctor"], "flag_value_unusable"),
        (["--lang", "ko", "doctor", "--lang", "en"], "flag_repeated"),
    ],
)
def test_a_language_without_its_verb_or_value_is_told(
    words: list[str], code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(words) == 2
    assert code in capsys.readouterr().err
