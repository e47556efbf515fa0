"""A study on mocks whose crossing is known by formula: the product must find it."""

import json
from pathlib import Path

import pytest

from tests.e2e.paced_engine import write_study
from whichbits.cli import exit_code

# A step takes a + b x batch ms: 24 + 7.5 n for the one and 54 + 1.5 n for the other are equal at n = 5, and so far
# apart at 2 and at 8 that a busy machine's delays, which both arms have, do not turn them round.
ARMS = {
    "few-bytes": {"itl_ms": 24, "itl_per_running_ms": 7.5},
    "little-work": {"itl_ms": 54, "itl_per_running_ms": 1.5},
}
CROSSING = 5.0
DOUBTS = {"books_disagree", "cache_not_cold", "cache_reset_unverified", "other_traffic", "unequal_work"}


def test_the_crossing_of_two_mocks_is_found_where_their_formulas_meet(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = {"ttft_ms": 5, "cadence": "steps", "prefix_cache": True}
    study = write_study(
        tmp_path,
        ARMS,
        every_arm={"engine": "mock", "model": "whichbits-mock", "options": options},
        traffic={"kind": "random", "input_tokens": 40, "output_tokens": 8},
        loads=[2, 4, 8],
        cell={"per_stream": 2, "at_least": 8},
        cache="reset",
    )

    code = exit_code(["run", str(study), "--json", "--plain"])
    summary = json.loads(capsys.readouterr().out)

    assert code in (0, 6)  # 6: a busy machine made the client late
    tpot = {(cell["arm"], cell["concurrency"]): cell["tpot_ms"]["p50"] for cell in summary["cells"]}
    assert tpot["few-bytes", 2] < tpot["little-work", 2]  # 39 against 57 ms
    assert tpot["few-bytes", 8] > tpot["little-work", 8]  # 84 against 66 ms
    codes = [finding["code"] for finding in summary["findings"]]
    assert codes[0] == "arm_is_mock"
    assert not DOUBTS & set(codes)
    if all(cell["client_verdict"] == "client_ok" for cell in summary["cells"]):
        found = next(each for each in summary["crossovers"] if each["metric"] == "tpot_ms.p50")
        assert found["verdict"] == "crosses"
        assert (found["leader_low_load"], found["leader_high_load"]) == ("few-bytes", "little-work")
        (crossing,) = found["crossings"]
        assert crossing["low"] <= CROSSING <= crossing["high"]
