"""What a phrase keeps of its making, and how it is said."""

import copy
import pickle

import msgspec
import pytest

from whichbits.language.catalogue import parse
from whichbits.language.language import ENGLISH, Language
from whichbits.language.phrase import Phrase, joined, listed, phrase, recognised

KOREAN = Language(
    "ko",
    {
        "{arm} leads by {share:.0%}": "{arm:이} {share:.0%} 앞선다",
        "{before} and {last}": "{before}, {last}",
        "median TPOT": "TPOT 중앙값",
        "{name} of {names}": "{names}의 {name}",
    },
)


def test_a_phrase_is_its_english_text() -> None:
    said = phrase("{arm} leads by {share:.0%}", arm="fp16", share=0.25)

    assert said == "fp16 leads by 25%"
    assert ENGLISH.say(said) == "fp16 leads by 25%"
    assert KOREAN.say(said) == "fp16이 25% 앞선다"


def test_phrases_within_phrases_are_said_too() -> None:
    said = phrase("{name} of {names}", name=phrase("median TPOT"), names=listed(["a", "b", "c"]))

    assert said == "median TPOT of a, b and c"
    assert KOREAN.say(said) == "a, b, c의 TPOT 중앙값"


def test_a_name_is_never_looked_up() -> None:
    assert KOREAN.say("median TPOT") == "median TPOT"
    assert KOREAN.say(phrase("{name} of {names}", name="median TPOT", names="x")) == "x의 median TPOT"


@pytest.mark.parametrize("name", ["{arm}", "{0}", "{", "}}", "{arm:이}", "%(x)s"])
def test_braces_in_a_name_are_text(name: str) -> None:
    said = phrase("{arm} leads by {share:.0%}", arm=name, share=1.0)

    assert said.startswith(name)
    assert KOREAN.say(said).startswith(name)


def test_what_the_catalogue_lacks_is_marked() -> None:
    assert KOREAN.say(phrase("no such words in {place}", place="it")) == "[en] no such words in it"


def test_sums_and_joins_keep_what_they_are_made_of() -> None:
    name = phrase("median TPOT")

    assert KOREAN.say("x " + name + " y") == "x TPOT 중앙값 y"
    assert KOREAN.say(joined("; ", [name, "z"])) == "TPOT 중앙값; z"
    assert joined(", ", []) == ""


def test_titled_is_capital_in_english_only() -> None:
    assert phrase("median TPOT").titled() == "Median TPOT"
    assert KOREAN.say(phrase("median TPOT").titled()) == "TPOT 중앙값"


def test_without_empties_a_field_at_every_depth() -> None:
    inner = phrase("{load}{unit}", load="5", unit=" requests")
    said = phrase("{title}{end}", title="TPOT: ", end=inner)

    assert said.without("title", "unit") == "5"


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))])  # noqa: S301 - ours
def test_a_copy_can_be_said(copied: object) -> None:
    assert callable(copied)
    assert KOREAN.say(copied(phrase("median TPOT"))) == "TPOT 중앙값"


def test_json_holds_the_english_text() -> None:
    assert msgspec.json.encode({"text": phrase("median TPOT")}, enc_hook=str) == b'{"text":"median TPOT"}'


def test_a_recorded_text_is_known_again() -> None:
    found = recognised("median TPOT leads by 25%", ["{arm} leads by {share:.0%}"], [phrase("median TPOT")])

    assert isinstance(found, Phrase)
    assert KOREAN.say(found) == "TPOT 중앙값이 25% 앞선다"
    assert not isinstance(recognised("of another version", ["{arm} leads by {share:.0%}"], []), Phrase)


def test_a_catalogue_is_read_with_its_escapes_and_continued_lines() -> None:
    text = r"""
msgid ""
msgstr "Language: ko\n"

# why
msgid "a \"b\" "
"c"
msgstr ""
"가 \"나\"\n"

msgid "d"
msgstr ""
"""

    assert parse(text) == {'a "b" c': '가 "나"\n'}
