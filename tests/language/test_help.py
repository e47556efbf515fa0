"""``--help`` in Korean: whole, in its frame at every width, and English as it was."""

import re

import pytest
from rich.cells import cell_len

from tests.language.help_in_source import help_texts
from whichbits.cli import LANGUAGE_VARIABLE, exit_code
from whichbits.cli.reference import verbs
from whichbits.language.language import catalogue

KOREAN = catalogue("help.ko")
PAGES = [[], *([verb] for verb in verbs())]
HANGUL = re.compile("[가-힣]")


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv(LANGUAGE_VARIABLE, raising=False)


def test_every_text_of_every_page_is_in_the_catalogue_and_no_other() -> None:
    told = help_texts()

    assert {text: page for text, page in told.items() if text not in KOREAN} == {}
    assert set(KOREAN) - set(told) == set()
    assert len(told) > 130


def test_code_in_a_text_is_code_in_its_translation() -> None:
    for text, translated in KOREAN.items():
        assert set(re.findall("`[^`]*`", translated)) == set(re.findall("`[^`]*`", text)), text
        assert set(re.findall(r"--[a-z-]+", translated)) <= set(re.findall(r"--[a-z-]+", text)), text


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("words", PAGES, ids=" ".join)
def test_a_page_is_korean_within_its_frame(
    words: list[str], width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))

    assert exit_code([*words, "--help", "--lang", "ko"]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"사용법: {' '.join(['whichbits', *words])}")
    assert {cell_len(line) for line in lines if line[:1] in "╭│╰" and line} == {width}
    assert max(cell_len(line.rstrip()) for line in lines) <= width


@pytest.mark.parametrize("words", PAGES, ids=" ".join)
def test_no_english_text_is_left_on_a_page(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code([*words, "--help", "--lang=ko"]) == 0

    page = " ".join(re.sub(r"[│╭╮╰╯─]", " ", capsys.readouterr().out).split())
    assert HANGUL.search(page)
    assert [text for text in KOREAN if len(text.split()) > 3 and text.replace("`", "") in page] == []
    assert re.search(r"\[(choices|env var|default|required)\b", page) is None


def test_the_variable_asks_for_korean_help(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LANGUAGE_VARIABLE, "ko")

    assert exit_code(["-h"]) == 0
    assert "이 도움말을 출력하고 끝냅니다." in capsys.readouterr().out


@pytest.mark.parametrize("words", [["--help"], ["run", "--help", "--lang", "en"], ["run", "--help", "--lang", "fr"]])
def test_other_pages_are_english(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(words) == 0
    assert HANGUL.search(capsys.readouterr().out) is None
