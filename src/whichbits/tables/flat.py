"""Cells and arms of a summary as rows: one column a number, one pair of columns an interval."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, get_args, get_type_hints

import pyarrow as pa

from whichbits.analyze.curves.load_curves import METRICS
from whichbits.analyze.summary import ArmSummary, CellSummary, Distribution

_TYPES: dict[Any, pa.DataType] = {int: pa.int64(), float: pa.float64(), str: pa.string(), bool: pa.bool_()}
_STATISTICS = ("n", "mean", "p50", "p90", "p99")

Row = Mapping[str, Any]


def cell_table(summary: Row) -> pa.Table:
    """Return a row for each cell of a summary, planned and failed ones too.

    A distribution gives five columns (``ttft_ms_n``, ``_mean``, ``_p50``, ``_p90``, ``_p99``), and each metric that is
    compared two for its 95 % interval (``ttft_ms_p50_low``, ``_high``). What is no number or word is left out.
    """
    columns = [*_columns(CellSummary), *_intervals()]
    return _table(columns, summary["cells"])


def arm_table(summary: Row) -> pa.Table:
    """Return a row for each arm of a summary: its numbers and words."""
    return _table(list(_columns(ArmSummary)), list(summary["arms"].values()))


Column = tuple[str, pa.DataType, Sequence[str | int]]
"""Name, type, and the way to the value through nested mappings."""


def _columns(kind: type[Any]) -> Iterator[Column]:
    hints = get_type_hints(kind)
    for field in fields(kind):
        plain = _plain(hints[field.name])
        if plain in _TYPES:
            yield field.name, _TYPES[plain], (field.name,)
        elif is_dataclass(plain) and plain is Distribution:
            for statistic in _STATISTICS:
                numbers = _TYPES[int if statistic == "n" else float]
                yield f"{field.name}_{statistic}", numbers, (field.name, statistic)


def _plain(hint: Any) -> Any:
    """Return the type that a hint allows beside None."""
    if isinstance(hint, UnionType):
        others = [option for option in get_args(hint) if option is not NoneType]
        return others[0] if len(others) == 1 else None
    return hint


def _intervals() -> Iterator[Column]:
    for metric in METRICS:
        for side, name in enumerate(("low", "high")):
            yield f"{metric.replace('.', '_')}_{name}", pa.float64(), ("intervals", metric, side)


def _table(columns: Sequence[Column], rows: Sequence[Row]) -> pa.Table:
    arrays = [pa.array([_value(row, way) for row in rows], kind) for _, kind, way in columns]
    return pa.table(arrays, names=[name for name, _, _ in columns])


def _value(row: Row, way: Sequence[str | int]) -> Any:
    found: Any = row
    for step in way:
        found = found[step] if isinstance(step, int) else found.get(step)
        if found is None:
            return None
    return found
