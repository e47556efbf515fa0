"""docs/vllm.md lists every setting, and its examples are studies."""

import re
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, keys, page, section
from whichbits.study.arm import EngineSettings
from whichbits.study.read import parse_study, read_study

PAGE = page("vllm.md")


def test_every_setting_is_in_the_table() -> None:
    assert keys(section(PAGE, "Settings")) == list(EngineSettings.model_fields)


@pytest.mark.parametrize("example", re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
def test_an_example_is_a_study(example: str) -> None:
    assert {arm.engine for arm in parse_study(example, "the example").arms.values()} == {"vllm"}


@pytest.mark.parametrize("path", sorted((ROOT / "studies").rglob("*.yaml")), ids=lambda path: path.stem)
def test_a_study_that_comes_along_is_one(path: Path) -> None:
    assert read_study(path).name.startswith(path.stem)
