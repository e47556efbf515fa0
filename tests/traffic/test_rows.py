"""Rows of large JSON files: found in pieces, told apart, and read again by place."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whichbits.traffic import rows as rows_room
from whichbits.traffic.rows import BROKEN, each_row, find_rows

values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
containers = st.lists(values, max_size=3) | st.dictionaries(st.text(max_size=5), values, max_size=3)


def in_pieces(content: bytes, size: int, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    monkeypatch.setattr(rows_room, "_PIECE_BYTES", size)
    return list(each_row(io.BytesIO(content)))


@settings(deadline=None)
@given(items=st.lists(containers, max_size=8), size=st.integers(1, 40), indent=st.sampled_from([None, 1]))
def test_an_array_is_read_in_pieces_of_any_size(items: list[Any], size: int, indent: int | None) -> None:
    content = json.dumps(items, ensure_ascii=False, indent=indent).encode("utf-8", "replace")
    with pytest.MonkeyPatch.context() as patch:
        found = in_pieces(content, size, patch)

    assert [row.value for row in found] == json.loads(content)
    assert [json.loads(content[row.start : row.start + row.length]) for row in found] == json.loads(content)


@settings(deadline=None)
@given(st.binary(max_size=300))
def test_no_bytes_raise_anything_but_a_wrong_encoding(content: bytes) -> None:
    for prefix in (b"", b"[", b"\xef\xbb\xbf[", b"{"):
        try:
            list(each_row(io.BytesIO(prefix + content)))
        except UnicodeDecodeError:
            continue


def test_lines_keep_their_places(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_text('\ufeff{"a": 1}\n\n{"a": \n{"a": 3}', encoding="utf-8")
    rows = find_rows(path, lambda value: None if value["a"] else "none")

    assert rows.read([1, 0]) == [{"a": 3}, {"a": 1}]
    assert rows.counts.unusable == {"not_json": 1}


def test_deep_nesting_is_broken_not_an_overflow() -> None:
    assert [row.value for row in each_row(io.BytesIO(b"[" * 100_000))] == [BROKEN]
    assert [row.value for row in each_row(io.BytesIO(b'{"a":' * 100_000))] == [BROKEN]


def test_a_row_that_never_ends_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows_room, "MOST_BYTES", 1000)
    found = in_pieces(b'[{"a": 1}, "' + b"x" * 10_000, 64, monkeypatch)

    assert [row.value for row in found] == [{"a": 1}, BROKEN]
