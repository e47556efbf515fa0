"""Engines are found by name, and a name that leads nowhere is explained."""

import sys

import pytest

from whichbits.errors import BadInput
from whichbits.serve.engine import engine


def test_a_misspelled_engine_is_guessed_and_the_known_ones_are_listed() -> None:
    with pytest.raises(BadInput) as refused:
        engine("embeded")

    assert "did you mean 'embedded'?" in refused.value.what
    assert "embedded" in refused.value.fix


def test_a_missing_dependency_names_the_extra_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "whichbits.serve.embedded.launch", None)

    with pytest.raises(BadInput) as refused:
        engine("embedded")

    assert refused.value.fix == "pip install 'whichbits[embedded]'"
