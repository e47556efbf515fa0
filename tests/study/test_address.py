"""Addresses in studies are plain, and nobody's password gets as far as a record or a message."""

import pytest

from whichbits.errors import BadInput
from whichbits.study.read import parse_study

ARM = "  a: {{weight_format: bf16, model: m, engine: openai, target: {{url: {url!r}}}}}\n"
STUDY = f"name: n\ntraffic: {{{{kind: random}}}}\nloads: [1]\narms:\n{ARM}"


@pytest.mark.parametrize(
    "url", ["http://host:8000", "https://host/a/b/v1/", "http://[::1]:8000", "http://10.0.0.1", "HTTPS://Host"]
)
def test_plain_addresses_are_taken(url: str) -> None:
    target = parse_study(STUDY.format(url=url), "it").arms["a"].target

    assert target is not None
    assert target.urls == (url,)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://me:s3cret@host", "use api_key_variable"),
        ("http://s3cret@host", "use api_key_variable"),
        ("host:8000", "has no scheme: write http://host:8000,"),
        ("127.0.0.1:8000/v1", "has no scheme: write http://127.0.0.1:8000/v1,"),
        ("s3cret", "such as http://host:8000"),
        ("me:s3cret@host:8000", "not an address"),
        ("unix:///s3cret", "such as http://host:8000"),
        ("http://host:99999", "not an address"),
        ("http://[::1", "not an address"),
        ("http://a..b:8000", "not an address"),
        (f"http://{'s3cret' * 11}:8000", "not an address"),
        ("http://host/v1?key=s3cret", "no ?query"),
        ("http:// host", "no spaces"),
    ],
)
def test_others_are_refused_without_being_quoted(url: str, words: str) -> None:
    with pytest.raises(BadInput) as refused:
        parse_study(STUDY.format(url=url), "it")

    assert words in refused.value.what
    assert "s3cret" not in str(refused.value)
