"""Tokens that are parts of characters get their texts back."""

from whichbits.quality.asked import Token
from whichbits.quality.readable import readable


def texts(content: str, *given: str) -> list[str]:
    return [token.text for token in readable([Token(str(at), text, -1.0) for at, text in enumerate(given)], content)]


def test_whole_tokens_stay() -> None:
    assert texts("the cat", "the", " cat") == ["the", " cat"]


def test_the_last_part_of_a_character_has_it_all() -> None:
    assert texts("한국 is", "�", "�", "�", "�", " is") == ["", "", "", "한국", " is"]


def test_a_first_token_of_unknown_text_is_mended() -> None:
    assert texts("the cat sat", "", " cat", " sat") == ["the", " cat", " sat"]


def test_parts_at_the_end_stay() -> None:
    assert texts("a 한", "a", " �", "�") == ["a", " �", "�"]


def test_another_texts_tokens_stay() -> None:
    assert texts("the cat", "a", " dog", "�") == ["a", " dog", "�"]
