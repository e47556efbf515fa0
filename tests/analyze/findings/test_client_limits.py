"""A cell that the client limited says why in its first sentence, with the number."""

from dataclasses import replace

from tests.analyze.make_observed import arm, cell, found, observed
from whichbits.analyze.findings.client import client_limits
from whichbits.record.schema import Cell, ClientHealth

LAG = "sends: p99 lag 8.2 ms is 13% of the median TTFT (65.3 ms); suspect above 10%, limited above 50%"


def test_the_first_reason_is_told_and_all_are_evidence() -> None:
    health = ClientHealth("client_suspect", (LAG, "a note"), 8.2, None, None, None)
    recorded = Cell(0, "w4a16", 8, None, 0, client=health)
    seen = observed([arm()], [cell()])

    (finding,) = found(client_limits, replace(seen, manifest=replace(seen.manifest, cells=(recorded,))))
    (untold,) = found(client_limits, replace(seen, manifest=replace(seen.manifest, cells=(_silent(recorded),))))

    assert finding.text.endswith(
        "the client may have been the limit (sends: p99 lag 8.2 ms is 13% of the median TTFT (65.3 ms))."
    )
    assert finding.evidence[-2:] == (LAG, "a note")
    assert untold.text.endswith("the client was the limit, so the cell is left out of comparisons.")


def _silent(recorded: Cell) -> Cell:
    return replace(recorded, client=ClientHealth("client_limited", (), None, None, None, None))
