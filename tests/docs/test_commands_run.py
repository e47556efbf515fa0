"""Every command on every page runs here and ends as it should, but for those of elsewhere.py."""

import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.commands import commands
from tests.docs.elsewhere import ELSEWHERE
from tests.docs.pages import ROOT
from tests.docs.stand_ins import StandIns
from tests.docs.working_folder import add_own_runs, make_working_folder
from tests.report.destinations.collector import collecting
from tests.serve.mock.wire import mock
from tests.serve.vllm.interpreters import with_vllm
from whichbits.cli import exit_code

SERVING = {"mock", "view"}
GOOD = {
    # A busy machine makes the client late, which is exit 6 and no fault of the page.
    "run": {0, 6},
    "load": {0, 6},
    # 3 says what this machine lacks: an L4 has to be somewhere else.
    "doctor": {0, 3},
}
DISTINCT = {" ".join(each.words): each for each in commands() if not each.is_usage}
HERE = {text: command for text, command in DISTINCT.items() if text not in ELSEWHERE}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return add_own_runs(make_working_folder(tmp_path_factory.mktemp("work")))


@pytest.fixture(scope="module")
def stand_ins(folder: Path) -> Iterator[StandIns]:
    with mock(itl_ms=0.5, ttft_ms=0.5) as server, collecting() as collector, pytest.MonkeyPatch.context() as patch:
        site = with_vllm(folder / "site", "vllm", "0.27.1")["PYTHONPATH"]
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [site, os.environ.get("PYTHONPATH")])))
        patch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.endpoint)
        patch.setenv("GITHUB_STEP_SUMMARY", str(folder / "step.md"))
        patch.setenv("API_KEY", "a key")
        patch.setenv("BROWSER", "true")  # the program of that name: it opens nothing
        patch.chdir(folder)
        yield StandIns(f"http://127.0.0.1:{server.port}", collector.endpoint)


def test_the_list_of_what_is_not_run_is_true_and_short() -> None:
    assert set(ELSEWHERE) <= set(DISTINCT)
    assert [each.shown_by for each in ELSEWHERE.values() if not (ROOT / each.shown_by).is_file()] == []
    assert len(ELSEWHERE) < len(HERE) / 8


@pytest.mark.parametrize("text", sorted(text for text, each in HERE.items() if each.words[0] not in SERVING))
def test_it_runs(text: str, stand_ins: StandIns, capfd: pytest.CaptureFixture[str]) -> None:
    words = stand_ins.of(HERE[text].words)
    code = exit_code(words)
    told = capfd.readouterr()

    assert code in GOOD.get(words[0], {0}), told.err
    assert told.out.strip() or told.err.strip()


@pytest.mark.parametrize("text", sorted(text for text, each in HERE.items() if each.words[0] in SERVING))
def test_it_serves_until_ctrl_c(text: str, stand_ins: StandIns) -> None:
    command = [sys.executable, "-m", "whichbits", *stand_ins.of(HERE[text].words)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().split()[-1]
        path = "truth" if HERE[text].words[0] == "mock" else ""
        with urllib.request.urlopen(f"{address.rstrip('/')}/{path}", timeout=30) as answer:  # noqa: S310 - loopback
            assert answer.status == 200
        process.send_signal(signal.SIGINT)
        assert process.wait(60) in (0, 130)
