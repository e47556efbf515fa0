"""Rules are silent where nothing is wrong, and where nothing is known."""

from dataclasses import fields, replace
from typing import Any

from tests.analyze.field_reports import bare
from tests.analyze.make_observed import UNKNOWN, arm, cell, observed
from whichbits.analyze.findings import findings
from whichbits.analyze.summary import CellSummary, Distribution


def unknown(name: str, load: int) -> CellSummary:
    """A finished cell of which every number that can be unknown is."""
    plain = bare(name, load)
    nothing: dict[str, Any] = {
        field.name: UNKNOWN if isinstance(getattr(plain, field.name), Distribution) else None
        for field in fields(plain)
        if field.name.endswith("_ms") or field.name.endswith("_tokens") or field.name.startswith(("engine", "expected"))
    }
    return replace(plain, **(nothing | {"requests": 0, "output_tokens": 0, "output_tokens_per_s": None}))


def test_quiet_cells_of_equal_arms_give_no_findings() -> None:
    arms = [arm("fp16", "fp16", dtype="float16"), arm("w4a16", dtype="float16", quant_kernels="MarlinLinearKernel")]
    cells = [cell(each.arm, load) for each in arms for load in (1, 8)]

    assert findings(observed(arms, cells)) == ()


def test_nothing_known_gives_nothing_but_that() -> None:
    arms = [replace(arm(name, bits), weights_gib=None, facts={}) for name, bits in (("fp16", "fp16"), ("x", "w4a16"))]
    cells = [unknown(each.arm, load) for each in arms for load in (1, 100)]

    found = findings(observed(arms, cells))

    assert [finding.code for finding in found] == ["cache_unknown"]
