"""A study on mocks whose crossing is known by formula: the product must find it."""

import json
from pathlib import Path

import pytest

from tests.e2e.paced_engine import write_study
from whichbits.cli import exit_code

# A step takes a + b x batch ms: 8 + 2.5 n for the one and 18 + 0.5 n for the other are equal at n = 5.
ARMS = {
    "few-bytes": {"itl_ms": 8, "itl_per_running_ms": 2.5},
    "little-work": {"itl_ms": 18, "itl_per_running_ms": 0.5},
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
        traffic={"kind": "random", "input_tokens": 40, "output_tokens": 12},
        loads=[2, 4, 8],
        cell={"per_stream": 2, "at_least": 8},
        cache="reset",
    )

    code = exit_code(["run", str(study), "--json", "--plain"])
    summary = json.loads(capsys.readouterr().out)

    assert code in (0, 6)  # 6: a busy machine made the client late
    tpot = {(cell["arm"], cell["concurrency"]): cell["tpot_ms"]["p50"] for cell in summary["cells"]}
    assert tpot["few-bytes", 2] < tpot["little-work", 2]  # 13 against 19 ms
    assert tpot["few-bytes", 8] > tpot["little-work", 8]  # 28 against 22 ms
    codes = [finding["code"] for finding in summary["findings"]]
    assert codes[0] == "arm_is_mock"
    assert not DOUBTS & set(codes)
    if all(cell["client_verdict"] == "client_ok" for cell in summary["cells"]):
        found = next(each for each in summary["crossovers"] if each["metric"] == "tpot_ms.p50")
        assert found["verdict"] == "crosses"
        assert (found["leader_low_load"], found["leader_high_load"]) == ("few-bytes", "little-work")
        (crossing,) = found["crossings"]
        assert crossing["low"] <= CROSSING <= crossing["high"]
