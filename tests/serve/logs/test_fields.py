"""Settings that Python printed are read without evaluating them, and never further than they were printed."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whichbits.serve.logs.fields import split_fields, value

PLAIN = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**17), 10**17),
    st.text(st.characters(codec="ascii", categories=["L", "N"])),
)
KEYS = st.from_regex(r"[a-z_]{1,9}", fullmatch=True)


@given(settings=st.dictionaries(KEYS, PLAIN))
def test_reads_what_python_prints(settings: dict[str, Any]) -> None:
    printed = repr(settings).removeprefix("{")

    assert {key: value(text) for key, text in split_fields(printed).items()} == settings


def test_nested_settings_stay_whole() -> None:
    fields = split_fields("dtype=torch.float16, inner=Inner(model='x', sizes=[1, 2]), note='a, b=c', seed=1) more=2")

    assert list(fields) == ["dtype", "inner", "note", "seed"]
    assert fields["inner"] == "Inner(model='x', sizes=[1, 2])"


def test_a_last_value_that_nothing_ends_is_left_out() -> None:
    assert split_fields("max_num_seqs=128, max_model_len=40") == {"max_num_seqs": "128"}


@pytest.mark.parametrize(
    ("printed", "meant"),
    [
        ("torch.bfloat16", "bfloat16"),
        ("LoadFormat.AUTO", "auto"),
        ("<Mode.NONE: 0>", "none"),
        ("['m', 'n']", ["m", "n"]),
        ("0.85", 0.85),
        ("1e-05", 1e-05),
        ("Config(a=1)", "Config(a=1)"),
    ],
)
def test_objects_are_read_by_their_names(printed: str, meant: Any) -> None:
    assert value(printed) == meant
