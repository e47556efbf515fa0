"""docs/traffic.md shows traffic and arrivals that a study may hold, and every kind of both."""

import re
from typing import Any

import pytest
import yaml

from tests.docs.pages import keys, page
from whichbits.study.model import Study
from whichbits.study.read import quickstart
from whichbits.study.schema import study_schema
from whichbits.traffic import jsonl

PAGE = page("traffic.md")
LINES = re.findall(r"^(?:traffic|arrivals): .*$", PAGE, re.MULTILINE)
PLAIN = quickstart().model_dump(mode="json") | {"request": {"prompt": "text"}}


def kinds(key: str) -> set[str]:
    written: dict[str, Any] = study_schema()["properties"][key]
    choices = written if "discriminator" in written else written["anyOf"][1]
    return set(choices["discriminator"]["mapping"])


@pytest.mark.parametrize("line", LINES)
def test_every_example_is_a_study_s(line: str) -> None:
    written = yaml.safe_load(line)
    trace = {"traffic": {"kind": "trace", "path": "x"}} if written.get("arrivals") == "trace" else {}

    Study.model_validate(PLAIN | trace | written)


def test_every_kind_is_in_a_table() -> None:
    assert kinds("traffic") | kinds("arrivals") <= set(keys(PAGE))
    assert len(LINES) >= 11


def test_every_field_of_a_line_is_named() -> None:
    names = {*jsonl.IDS, *jsonl.MESSAGES, *jsonl.PROMPTS, *jsonl.OUTPUTS, *jsonl.ANSWERS, *jsonl.WRAPPED}

    assert {name for name in names if f"`{name}`" not in PAGE} == set()
