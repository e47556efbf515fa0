"""What arms said is read back as it was written."""

from pathlib import Path

import pytest

from whichbits.errors import BadInput
from whichbits.quality.asked import Asked, FreeAnswer, ScoredText, Token
from whichbits.quality.store import is_asked, read_asked, write_asked

HALF_A_CHARACTER = "\udcea"
ASKED = Asked(
    arm="w4a16/g128",
    way="prompt_logprobs",
    texts=(
        ScoredText("prose/a", "prose", 0, (Token("5", "", None), Token("7", " the", -0.125, {"7": -0.125, "9": -3.5}))),
        ScoredText("korean/b", "korean", 0, (Token("1", "한", -0.1),)),
        ScoredText("prose/a", "prose", 1, (Token("5", "", None), Token("7", " the", -0.25))),
    ),
    answers=(FreeAnswer("questions/q", 0, ("1", "2"), "hi", "stop"), FreeAnswer("questions/r", 0, (), "", None)),
    notes=("long/c: too long",),
)


def test_what_was_said_is_read_back(tmp_path: Path) -> None:
    assert not is_asked(tmp_path, ASKED.arm)
    write_asked(tmp_path, ASKED)

    assert is_asked(tmp_path, ASKED.arm)
    assert read_asked(tmp_path) == {ASKED.arm: ASKED}


def test_an_arm_that_said_nothing_is_kept_too(tmp_path: Path) -> None:
    silent = Asked("silent", None, notes=("no log-probabilities",))
    write_asked(tmp_path, silent)

    assert read_asked(tmp_path) == {"silent": silent}


def test_half_a_character_does_not_cost_the_file(tmp_path: Path) -> None:
    write_asked(tmp_path, Asked("arm", "echo", (ScoredText("a", "d", 0, (Token("5", HALF_A_CHARACTER, -1.0),)),)))

    assert read_asked(tmp_path)["arm"].texts[0].tokens[0].text == "?"


def test_a_damaged_file_is_an_error_that_names_the_arm(tmp_path: Path) -> None:
    write_asked(tmp_path, ASKED)
    next((tmp_path / "quality").glob("*.tokens.parquet")).write_bytes(b"PAR1")

    with pytest.raises(BadInput, match="w4a16/g128") as refused:
        read_asked(tmp_path)
    assert refused.value.code == "run_broken"
