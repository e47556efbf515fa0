"""The shipped texts, and how files of texts are read."""

from pathlib import Path

import pytest

from whichbits.errors import BadInput
from whichbits.quality.texts import questions, split, texts
from whichbits.study.quality import Quality


def test_shipped_texts_are_of_five_domains_and_named_once() -> None:
    found = texts(Quality())
    domains = {text.domain for text in found}

    assert domains == {"prose", "code", "korean", "numbers", "long"}
    assert len({text.name for text in found}) == len(found)
    assert 30_000 < sum(len(text.content.encode()) for text in found) < 60_000
    assert all(sum(text.domain == domain for text in found) >= 8 for domain in domains - {"long"})


def test_every_shipped_file_has_its_origin_and_licence() -> None:
    folder = Path(__file__).parents[2] / "src/whichbits/quality/texts"
    licence = (folder / "LICENSE.md").read_text(encoding="utf-8")

    assert all(f"`{path.name}`" in licence for path in folder.glob("*.txt"))


def test_every_product_that_is_shipped_is_right() -> None:
    (products,) = (text for text in texts(Quality(domains=("numbers",))) if text.name == "numbers/products")

    for line in products.content.splitlines():
        product, *_, result = line.rstrip(".").split(" = ")
        one, other = map(int, product.split(" x "))
        assert one * other == int(result)


def test_questions_are_no_domain() -> None:
    assert len(questions()) >= 20
    assert not {text.name for text in texts(Quality())} & {text.name for text in questions()}


def test_a_file_is_split_at_its_names() -> None:
    first, second = split("own", "%% a\none\n\ntwo\n%% b\nthree\n")

    assert (first.name, first.content) == ("own/a", "one\n\ntwo")
    assert (second.name, second.content) == ("own/b", "three")
    assert [text.content for text in split("own", "no names here\n")] == ["no names here"]


def test_own_texts_replace_those_shipped(tmp_path: Path) -> None:
    (tmp_path / "mail.txt").write_text("Dear all,\n", encoding="utf-8")

    assert [text.name for text in texts(Quality(texts=str(tmp_path)))] == ["mail/mail"]


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ({"texts": "/nowhere"}, "quality_texts_missing"),
        ({"domains": ("poetry",)}, "quality_domain_missing"),
    ],
)
def test_texts_that_are_not_there_are_said(asked: dict[str, object], code: str) -> None:
    with pytest.raises(BadInput) as refused:
        texts(Quality.model_validate(asked))

    assert refused.value.code == code
