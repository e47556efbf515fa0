"""The Korean catalogue: whole, with the fields of the English texts, and every template fills."""

import ast
import re
import string

import pytest

from tests.language.phrases_in_source import SOURCE, templates, unreadable
from whichbits.language.language import catalogue, has_words, language
from whichbits.language.phrase import Phrase

KOREAN = catalogue("ko")
PLURAL = "plural"
"""The field for the s of a plural, which Korean has not."""


def fields(template: str) -> dict[str, str]:
    return {name: spec or "" for _, name, spec, _ in string.Formatter().parse(template) if name is not None}


def test_every_phrase_of_the_program_is_in_the_catalogue_and_no_other() -> None:
    said = templates()

    missing = {template: place for template, place in said.items() if has_words(template) and template not in KOREAN}
    assert not missing
    assert not set(KOREAN) - set(said)
    assert len(said) > 500


def test_every_template_can_be_found_in_the_source() -> None:
    assert not unreadable()


def test_texts_have_the_fields_and_layouts_of_their_english() -> None:
    for template, translated in KOREAN.items():
        english, korean = fields(template), fields(translated)

        assert set(english) - {PLURAL} <= set(korean) <= set(english), template
        for name, spec in korean.items():
            assert re.sub("[가-힣]+$", "", spec) == english[name], template


def test_every_text_fills() -> None:
    for template in KOREAN:
        numbers = {name: 12 if spec else "fp16" for name, spec in fields(template).items()}
        said = language("ko").say(Phrase.of(template, numbers))

        assert "[en]" not in said
        assert "{" not in said.replace("{include_usage", ""), template


def test_findings_are_made_of_phrases() -> None:
    """An f-string with words would stay English in every language."""
    for path in sorted((SOURCE / "analyze" / "findings").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                words = "".join(str(part.value) for part in node.values if isinstance(part, ast.Constant))
                assert not has_words(words), f"{path}:{node.lineno}"


@pytest.mark.parametrize("name", ["text", "evidence", "settled_by"])
def test_no_finding_is_given_a_bare_text(name: str) -> None:
    place = {"text": 2, "evidence": 3, "settled_by": 4}[name]
    for path in sorted((SOURCE / "analyze").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Finding":
                given = [*node.args[place : place + 1], *(word.value for word in node.keywords if word.arg == name)]
                assert not any(isinstance(each, ast.Constant) and each.value for each in given), f"{path}:{node.lineno}"
