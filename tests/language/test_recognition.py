"""Texts told without a language are known again, whole or in part, and nothing else is."""

import re
import string

import pytest

from tests.language.phrases_in_source import SOURCE
from tests.language.texts_in_source import RETURNED, WHOLE, WORDINGS, texts
from whichbits.errors import BadInput
from whichbits.language.language import ENGLISH, catalogue, language
from whichbits.language.recognition import tell

KOREAN = language("ko")
TOLD = catalogue("told.ko")
COMMAND = re.compile(r"(pip install|export|nvidia-smi|whichbits|vllm bench|--set|`vllm bench)\b")
PROSE = re.compile(r"\b[a-z]{3,}\b")


def fields(template: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(template) if name is not None}


def is_prose(template: str) -> bool:
    """Say whether a template has words to translate: not a name alone, nor a command as it is typed."""
    words = re.sub(r"\{\w*\}|https?://\S*", " ", template)
    return " " in template.strip() and PROSE.search(words) is not None and not COMMAND.match(template)


def test_every_text_of_the_program_is_in_the_catalogue_and_no_other() -> None:
    found = texts()

    assert {text: place for text, place in found.items() if is_prose(text) and text not in TOLD} == {}
    assert set(TOLD) - set(found) == set()
    assert len(found) > 800


@pytest.mark.parametrize("path", [*WORDINGS, *RETURNED, *WHOLE])
def test_modules_that_are_named_are_there(path: str) -> None:
    assert (SOURCE / path).is_file()


def test_texts_have_the_fields_of_their_english() -> None:
    for template, translated in TOLD.items():
        assert fields(translated) == fields(template), template


def test_each_template_is_known_again_by_a_text_made_of_it() -> None:
    """Of all templates that could have made the text, the right one: its Korean says what the English says."""
    for template, translated in TOLD.items():
        made = {name: "; x" if f"}}{{{name}" in template else "x" for name in fields(template)}
        words = re.split(r"\{(\w+)(?::[가-힣]+)?\}", translated)
        values = [made[name] for name in words[1::2]]

        said = tell(template.format(**made), KOREAN)

        pieces = [re.escape(each.replace("{{", "{").replace("}}", "}")) for each in words[::2]]
        behind = [f"{re.escape(value)}[가-힣()]*" for value in values]
        assert re.fullmatch("".join(map("".join, zip(pieces, [*behind, ""], strict=True))), said), (template, said)


def test_an_error_is_said_in_korean() -> None:
    error = BadInput(
        "output_unwritable",
        "no run folder can be made in /runs: Permission denied",
        why="the folder is read-only, full, a file, or belongs to somebody else",
        fix="name another folder with --output",
    )

    assert tell(error.what, KOREAN) == "/runs에 실행 폴더를 만들 수 없습니다: Permission denied"
    assert tell(error.why, KOREAN) == "폴더가 읽기 전용이거나, 가득 찼거나, 파일이거나, 다른 사람의 것입니다"
    assert tell(error.fix, KOREAN) == "--output으로 다른 폴더를 지정하십시오"
    assert tell(error.what, ENGLISH) == error.what


def test_what_an_error_is_about_stays_before_it() -> None:
    error = BadInput("empty_file", "this file is empty.", why="w", fix="f").about("a: b.log")

    assert tell(BadInput("c", "this file is empty.", why="w", fix="f").about("vllm.log").what, KOREAN) == (
        "vllm.log: 파일이 비어 있습니다."
    )
    assert error.what.startswith("a: b.log")


def test_a_subject_is_no_part_of_a_text_that_begins_with_a_name() -> None:
    said = "vllm.log: cannot be read: No such file or directory."

    assert tell(said, KOREAN) == "vllm.log: 읽을 수 없습니다: No such file or directory."


def test_lines_are_known_each_for_itself() -> None:
    text = (
        "s.yaml is not a valid study:\n    line 3: loads: must be given\n    line 4: x: unknown key; did you mean 'y'?"
    )

    assert tell(text, KOREAN).splitlines() == [
        "s.yaml은 올바른 실험이 아닙니다:",
        "    line 3: loads: 반드시 있어야 합니다",
        "    line 4: x: 알 수 없는 키. 혹시 'y'?",
    ]


@pytest.mark.parametrize("text", ["CUDA error: out of memory", "모델", "", "{arm}", "fp16: ok", "a\nb"])
def test_other_words_stay_as_they_are(text: str) -> None:
    assert tell(text, KOREAN) == text


def test_a_name_with_braces_is_text() -> None:
    assert tell("{x:은} is not a folder", KOREAN).startswith("{x:은}")


def test_a_last_field_does_not_swallow_what_is_told_behind_it() -> None:
    noisy = "the crossing of a / b in median TPOT: too noisy to say"
    narrowed = "narrowed the crossing of b / c in median TPOT from 4 to 32 to 8 to 16"

    assert tell(f"{noisy}; {narrowed}", KOREAN) == (
        "a / b의 TPOT 중앙값 교차점: 잡음이 커서 말할 수 없음; b / c의 TPOT 중앙값 교차점을 4~32에서 8~16으로 좁힘"
    )
