"""Particles follow the sound before them: Hangul, digits as they are read, letters by name or by sound."""

import pytest

from whichbits.language.particles import particle


@pytest.mark.parametrize(
    ("word", "form", "expected"),
    [
        ("모델", "은", "은"),
        ("엔진", "는", "은"),
        ("커널", "으로", "로"),  # after ㄹ
        ("장비", "으로", "로"),
        ("셀", "이", "이"),
        ("fp16", "은", "은"),  # 육
        ("w4a8", "은", "은"),  # 팔
        ("w8a8", "으로", "로"),  # 팔 ends in ㄹ
        ("fp16", "으로", "으로"),
        ("bf2", "이", "가"),  # 이
        ("c4", "을", "를"),  # 사
        ("c10", "을", "을"),  # 십
        ("1.50", "이", "이"),  # 영
        ("67%", "이", "가"),  # 퍼센트
        ("AWQ", "은", "는"),  # 큐
        ("LLM", "은", "은"),  # 엠
        ("URL", "으로", "로"),  # 엘
        ("gptq", "은", "는"),
        ("vllm", "이", "이"),
        ("serving", "을", "을"),
        ("FP8-dynamic", "이", "이"),
        ("static", "으로", "으로"),
        ("model", "으로", "로"),
        ("eager", "과", "와"),
        ("f16 (bf16)", "이다", "이다"),
        ("커널 (Marlin)", "을", "을"),
        ("`arm-7`", "은", "은"),
        ("…", "은", "은(는)"),
        ("", "이", "이(가)"),
        ("日本", "이", "이(가)"),
    ],
)
def test_particle(word: str, form: str, expected: str) -> None:
    assert particle(word, form) == expected


def test_no_particle() -> None:
    with pytest.raises(KeyError):
        particle("모델", "까지")
