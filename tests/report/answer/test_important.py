"""A finding in short says something: whole sentences, and in Korean never one without its predicate."""

import re
import string

import pytest

from tests.language.phrases_in_source import templates
from whichbits.language.language import catalogue, language
from whichbits.language.phrase import Phrase
from whichbits.report.answer.important import in_short

KOREAN = catalogue("ko")
FINDINGS = sorted(
    template
    for template, place in templates().items()
    if "/analyze/" in place and template.endswith(".") and not template.startswith(" ") and template in KOREAN
)
"""What findings and answers say, as far as they are sentences."""
LONG = "w8a8-fp8 및 w4a16-awq (c1, c4, c16 … c256, 30 s)"
ENDED = re.compile(r"다(\([^()]*\))?(\.| …)$")


def filled(template: str, value: str) -> str:
    """Return the Korean of a template, its fields that are texts being ``value``."""
    fields = {name: 12 if spec else value for _, name, spec, _ in string.Formatter().parse(template) if name}
    return language("ko").say(Phrase.of(template, fields))


def first_sentence(text: str) -> str:
    return re.split(r"(?<=\.) ", text)[0]


def test_there_are_such_findings() -> None:
    assert len(FINDINGS) > 60


@pytest.mark.parametrize("longest", [40, 110, 142])
@pytest.mark.parametrize("value", ["w4a16", LONG, f"{LONG}; {LONG}; {LONG}"], ids=["short", "long", "a list"])
def test_no_korean_finding_loses_its_predicate(longest: int, value: str) -> None:
    for template in FINDINGS:
        text = filled(template, value)
        short = in_short(text, longest)

        assert short == text or len(short) < len(text), template
        if "다" in first_sentence(text) and re.search(r"다(\([^()]*\))?[.:;]", first_sentence(text)):
            assert ENDED.search(short) or short == text, template
            assert text.startswith(short.removesuffix(" …")), template
        else:
            assert len(short) <= longest + len(" …"), template


def test_a_korean_sentence_that_is_too_long_stays_whole() -> None:
    text = "셀 0에서 프롬프트 토큰이 프리픽스 캐시에서 얼마나 왔는지 알 수 없습니다. 다음 문장입니다."

    assert in_short(text, 20) == "셀 0에서 프롬프트 토큰이 프리픽스 캐시에서 얼마나 왔는지 알 수 없습니다."


def test_a_list_behind_a_korean_sentence_is_what_goes() -> None:
    text = "꼬리는 중앙값과 다른 결론을 가리킵니다: p90은 w4a16, p99는 w8a8, 그 밖에도 많습니다."

    assert in_short(text, 30) == "꼬리는 중앙값과 다른 결론을 가리킵니다 …"


def test_as_many_korean_sentences_as_fit() -> None:
    text = "하나는 맞습니다. 둘도 맞습니다(12 %). 셋은 너무 길어서 여기에 들어갈 수가 없습니다."

    assert in_short(text, 30) == "하나는 맞습니다. 둘도 맞습니다(12 %)."


def test_as_many_english_sentences_as_fit_or_the_beginning_of_one() -> None:
    assert in_short("One is. Two are. Three would be too many.", 20) == "One is. Two are."
    assert in_short("One sentence that goes on and on without an end", 20) == "One sentence that …"
    assert in_short("Short.", 20) == "Short."
