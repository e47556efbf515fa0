"""docs/profile.md names every kind of work, and its example is a study that is profiled."""

import re

from tests.docs.pages import page
from whichbits.analyze.kernels.names import KINDS
from whichbits.study.read import parse_study

PAGE = page("profile.md")


def test_every_kind_is_named() -> None:
    assert {kind for kind in KINDS if f"`{kind}`" not in PAGE} == set()


def test_the_example_is_a_study_that_is_profiled() -> None:
    (example,) = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)

    assert [str(load) for load in parse_study(example, "the example").profiled_loads] == ["c1", "c64"]
