from dataclasses import replace

import pytest

from tests.conduct.self_test.rungs import rung
from whichbits.conduct.self_test.rung import Errors, Rung


@pytest.mark.parametrize(
    ("seen", "judgement", "right"),
    [
        (rung(0.9), "exact", True),
        (rung(3.0), "coarse", True),
        (rung(6.0), "late", False),
        (rung(6.0, verdict="client_suspect"), "late", True),
        (rung(0.1, verdict="client_suspect"), "limited", True),
        (rung(6.0, mock_lag_ms=2.0), "mock_late", False),
        (rung(0.1, verdict="client_limited", mock_lag_ms=2.0), "mock_late", True),
        (rung(0.1, mock_lag_ms=2.0), "exact", True),  # the truth is known even of a late mock
        (rung(None), "failed", False),
        (rung(None, verdict="client_limited"), "failed", True),
    ],
)
def test_a_rung_is_judged_by_error_verdict_and_mock(seen: Rung, judgement: str, right: bool) -> None:
    assert seen.judgement == judgement
    assert seen.verdict_right == right


def test_a_late_first_token_counts_as_much_as_late_gaps() -> None:
    assert replace(rung(), errors=Errors(0.0, 0.1, 0.1, 2.0)).judgement == "coarse"
