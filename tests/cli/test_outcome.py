"""One exit code says what a run means: the gravest of all that applies."""

import signal
from dataclasses import replace
from typing import Any

import pytest

from tests.record.make_run import manifest
from tests.report.make_summary import make_summary
from whichbits.analyze.summary import Summary
from whichbits.cli import main
from whichbits.cli.outcome import exit_code
from whichbits.errors import ServerNotReady
from whichbits.study.model import Study
from whichbits.study.read import quickstart

DEAD = (ServerNotReady("server_died", "it died", why="of this", fix="do that"),)
HELD, MISSED = {"slo_share": 0.99}, {"slo_share": 0.98}
LIMITED = {"client_verdict": "client_limited"}


def summary(**cell: Any) -> Summary:
    """Two cells: a plain good one that misses the SLO, and the one described."""
    made = make_summary()
    good = replace(made.cells[0], requests=100, failed=0, client_verdict="client_ok", slo_share=0.5)
    return replace(made, cells=(good, replace(good, **cell)))


def study(failed_share: float = 0.0, *, slo: bool = True) -> Study:
    changes = {"limits": {"failed_share": failed_share}, "slo": {"ttft_ms": 100} if slo else None}
    return Study.model_validate(quickstart().model_dump(mode="json") | changes)


@pytest.mark.parametrize(
    ("code", "cell", "asked", "failures", "interrupted"),
    [
        (0, HELD, study(), (), False),
        (0, MISSED, study(slo=False), (), False),
        (0, HELD | {"client_verdict": "client_suspect"}, study(), (), False),
        (0, HELD | {"failed": 10}, study(0.1), (), False),
        (5, MISSED, study(), (), False),
        (6, MISSED | LIMITED, study(), (), False),
        (4, LIMITED | {"failed": 11}, study(0.1), (), False),
        (4, HELD | {"failed": 1}, study(), (), False),
        (3, LIMITED | {"failed": 11}, study(), DEAD, False),
        (130, {"failed": 11}, study(), DEAD, True),
    ],
)
def test_the_gravest_decides(
    code: int, cell: dict[str, Any], asked: Study, failures: tuple[ServerNotReady, ...], interrupted: bool
) -> None:
    recorded = replace(manifest(), interrupted=interrupted)

    assert exit_code(recorded, summary(**cell), asked, failures) == code


def test_ctrl_c_at_the_last_moment_is_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    """It came when the command had returned, and its outcome was about to be made final."""

    def interrupted(_number: int, _handler: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(signal, "signal", interrupted)
    with pytest.raises(SystemExit) as left:
        main(["--version"])

    assert left.value.code == 130
