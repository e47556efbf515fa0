"""One real rung: the client that every study uses, against mocks in processes of their own."""

import pytest

from whichbits.conduct.self_test.drive import Order, drive_rung
from whichbits.serve.mock.settings import Cadence


@pytest.mark.parametrize("cadence", ["spread", "steps"])
async def test_a_rung_has_the_truth_of_every_token(cadence: Cadence) -> None:
    rung = await drive_rung(Order(cadence, streams=6, seconds=0.2, processes=2))

    assert rung.failed == 0
    assert rung.errors is not None
    assert 0 <= rung.errors.itl_p50 <= rung.errors.itl_p99
    assert rung.errors.ttft_p50 > 0  # a read is never before its send
    assert rung.tokens_per_s > 0
