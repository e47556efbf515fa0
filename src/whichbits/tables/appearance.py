"""How a run and its tables show themselves in a prompt or a notebook: what is there, not all of it."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

import pyarrow as pa

from whichbits.language.amounts import amount
from whichbits.record.schema import Manifest

_ROWS = 8
_COLUMNS = 10
_LONGEST = 40


def run_lines(folder: str, manifest: Manifest, summary: Mapping[str, Any]) -> Iterator[str]:
    """Yield a run in a few lines: what it is, how far it came, whether the client kept up, the answer."""
    yield f"{manifest.name}, {manifest.source} {manifest.created}, in {folder}"
    cells = summary["cells"]
    states = Counter(cell["state"] for cell in cells)
    verdicts = Counter(str(cell.get("client_verdict")).removeprefix("client_") for cell in cells)
    verdicts.pop("None", None)
    client = f"; client {', '.join(f'{word} in {n}' for word, n in verdicts.items())}" if verdicts else ""
    yield f"{states['done']} of {amount(len(cells), 'cell')} done, arms {', '.join(summary['arms'])}{client}"
    answer = summary.get("answer") or {}
    for regime in answer.get("regimes", ()):
        yield f"{regime['regime'].replace('_', ' ')}: {regime['text']}"


def run_html(lines: Sequence[str]) -> str:
    """Return the same as HTML; names in it are text, whatever they hold."""
    first, *others = map(escape, lines)
    return f"<div><strong>{first}</strong>{''.join(f'<br>{line}' for line in others)}</div>"


def table_line(rows: pa.Table) -> str:
    """Return a table's size, and its columns with their types."""
    columns = ", ".join(f"{field.name} {field.type}" for field in rows.schema)
    return f"Table of {_size(rows)}: {columns}"


def table_html(rows: pa.Table) -> str:
    """Return the first rows and columns of a table as HTML, and what is left out."""
    shown = rows.slice(0, _ROWS).select(rows.column_names[:_COLUMNS])
    head = "".join(f"<th>{escape(name)}</th>" for name in shown.column_names)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(_short(value))}</td>' for value in row.values())}</tr>"
        for row in shown.to_pylist()
    )
    size = _size(rows)
    more = "" if shown.shape == rows.shape else f"; the first {_size(shown, ' and ')}"
    return f"<div><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><small>{size}{more}</small></div>"


def _size(rows: pa.Table, between: str = ", ") -> str:
    return f"{amount(rows.num_rows, 'row')}{between}{amount(rows.num_columns, 'column')}"


def _short(value: object) -> str:
    if value is None:
        return "null"
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
