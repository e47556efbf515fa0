"""How long words are: by a tokenizer where the study names one, else by four characters a token."""

import builtins
import json
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from tests.traffic.studies import WORDS, file_of, planned, study
from tests.traffic.test_inspect_dataset import conversation
from whichbits.errors import BadInput
from whichbits.traffic.plan import traffic_facts
from whichbits.traffic.tokens import Counted, Estimated, tokens_by


@pytest.fixture
def tokenizer(tmp_path: Path) -> str:
    """A tokenizer that counts words."""
    made = Tokenizer(models.WordLevel(vocab={"[UNK]": 0}, unk_token="[UNK]"))  # noqa: S106
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    path = tmp_path / "tokenizer.json"
    made.save(str(path))
    return str(path)


@pytest.mark.parametrize(("text", "count"), [("", 1), ("abcd", 1), ("abcde", 2), ("a" * 400, 100)])
def test_four_characters_are_a_token(text: str, count: int) -> None:
    assert Estimated()(text) == count


def test_a_tokenizer_counts_and_the_record_says_so(tmp_path: Path, tokenizer: str) -> None:
    chats = file_of(tmp_path, json.dumps([conversation(("human", "a b c"), ("gpt", "d e f g h"))]))
    traffic = {"kind": "sharegpt", "path": chats, "tokenizer": tokenizer}
    (request,) = planned(traffic, 1, request=WORDS)

    assert (request.output_tokens, request.message_tokens) == (5, 4)
    assert traffic_facts(study(traffic, request=WORDS))["tokens"] == f"counted by {tokenizer}"
    assert tokens_by(str(tmp_path))("a b") == 2


@pytest.mark.parametrize("content", [None, "", "{}", '{"a": 1}'])
def test_what_is_no_tokenizer_is_refused(tmp_path: Path, content: str | None) -> None:
    path = str(tmp_path / "absent") if content is None else file_of(tmp_path, content)
    with pytest.raises(BadInput) as caught:
        Counted(path)

    assert caught.value.code == "tokenizer_unusable"


def test_without_the_library_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = builtins.__import__

    def lacking(name: str, *arguments: Any, **options: Any) -> Any:
        if name == "tokenizers":
            raise ImportError(name)
        return found(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", lacking)
    with pytest.raises(BadInput, match="whichbits\\[tokenizers\\]") as caught:
        Counted(str(tmp_path / "other.json"))

    assert caught.value.code == "tokenizer_missing"
