"""What a kernel's name says of its work: its kind and its family, by the rows of names.toml."""

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal, get_args

Kind = Literal[
    "gemm",
    "attention",
    "quantise",
    "norm_activation",
    "kv_cache_write",
    "communication",
    "sampling",
    "moe_routing",
    "copy",
    "preparation",
    "elementwise",
    "other",
]
KINDS: tuple[Kind, ...] = get_args(Kind)
Basis = Literal["kernels", "operations"]
"""What a trace times: kernels on GPUs, or operations on a processor."""

UNKNOWN = "unknown"
_TABLES: dict[Basis, str] = {"kernels": "kernel", "operations": "operation"}


@dataclass(frozen=True)
class Work:
    """What a name stands for; ``seen`` says where that was learnt."""

    kind: Kind
    family: str
    seen: str = ""


def work_of(name: str, basis: Basis) -> Work:
    """Return what the kernel or operation ``name`` does; of an unknown name kind "other", family "unknown"."""
    return next((work for pattern, work in _rows(basis) if pattern.search(name)), Work("other", UNKNOWN))


@cache
def _rows(basis: Basis) -> tuple[tuple[re.Pattern[str], Work], ...]:
    table = tomllib.loads(files("whichbits.analyze.kernels").joinpath("names.toml").read_text(encoding="utf-8"))
    rows = table[_TABLES[basis]]
    return tuple((re.compile(row["pattern"]), Work(row["kind"], row["family"], row["seen"])) for row in rows)
