"""A study that is followed: what a scrape shows in each phase, and that what is counted never falls."""

import gzip
import socket
import struct
import threading
import urllib.error
import urllib.request
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.record.make_run import ended, failed, manifest, record
from whichbits.conduct.events import (
    ArmReady,
    ArmStarting,
    CellFinished,
    CellProgress,
    CellStarted,
    StudyFinished,
    StudyStarted,
    WarmingUp,
)
from whichbits.errors import BadInput
from whichbits.record.schema import ArmRecord, Cell, ReplicaRecord
from whichbits.record.scrapes import Scrape, during_path
from whichbits.record.writer import RunWriter
from whichbits.report.prometheus.endpoint import endpoint
from whichbits.report.prometheus.live_study import LiveStudy
from whichbits.report.prometheus.watched_run import WatchedRun, exposition

CELLS = (Cell(0, "a", 2, None, 0), Cell(1, "a", 2, None, 1))
RECORDS = [record(0, ttft_ms=20, tpot_ms=10), record(1, ttft_ms=300, tpot_ms=40), failed(record(2))]
HOSTILE = 'a"} 9\n# TYPE x \\'

Samples = Mapping[tuple[str, frozenset[tuple[str, str]]], float]


def samples(text: str) -> Samples:
    """Read a text with the reference parser; the run's name is left out."""
    found = {}
    for family in text_string_to_metric_families(text):
        assert family.documentation
        assert family.name.startswith("whichbits_")
        for sample in family.samples:
            found[sample.name, frozenset(sample.labels.items() - {("run", sample.labels["run"])})] = sample.value
    return found


def value(found: Samples, name: str, **labels: str) -> float | None:
    return found.get((name, frozenset(labels.items())))


class Time:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class Study:
    """A run of two cells of one arm, followed by a live study."""

    def __init__(self, folder: Path) -> None:
        replica = ReplicaRecord("0", (), {}, "http://127.0.0.1:1", None, None, {})
        self.writer = RunWriter.create(folder, manifest(cells=CELLS))
        self.writer.arm(ArmRecord("a", "bf16", "vllm", {}, (replica,)))
        self.clock = Time()
        self.live = LiveStudy(self.clock)
        self.live.attach(self.writer)

    def tell(self, *events: object) -> Samples:
        for event in events:
            self.live(event)  # type: ignore[arg-type]
        return samples(self.live.text())

    def start(self) -> Samples:
        return self.tell(StudyStarted(CELLS, ("a",), 20.0, (10.0, 10.0)), ArmStarting("a"), ArmReady("a", 1.0, ""))

    def finish(self, cell: Cell) -> Samples:
        done = ended(cell, RECORDS)
        self.writer.cell(done, RECORDS)
        return self.tell(CellFinished(done, 10.0, 100.0))

    def scraped(self, cell: int, running: int) -> None:
        path = during_path(self.writer.folder, "a", "0")
        path.parent.mkdir(exist_ok=True)
        text = f'vllm:num_requests_running{{engine="0"}} {running}\nvllm:kv_cache_usage_perc{{engine="0"}} 0.5\n'
        line = msgspec.json.encode(Scrape("a", "0", cell, "during", 1, text)) + b"\n"
        with path.open("ab") as file:
            file.write(gzip.compress(line))


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return Study(tmp_path)


def test_before_there_is_a_run_nothing_is_told() -> None:
    assert not LiveStudy().text()


def test_a_study_is_followed_from_start_to_end(study: Study) -> None:
    found = study.start()
    assert value(found, "whichbits_cells", state="planned") == 2
    assert value(found, "whichbits_study_remaining_seconds") == 20

    found = study.tell(WarmingUp("a"))
    assert value(found, "whichbits_phase", phase="warming_up") == 1

    study.clock.now = 5.0
    found = study.tell(CellStarted(CELLS[0], 3), CellProgress(1, 0, 3, 12, 2.5, sent=2))
    assert value(found, "whichbits_cell_info", arm="a", load="c2", repeat="1") == 1
    assert value(found, "whichbits_cell_requests") == 3
    assert value(found, "whichbits_cell_requests_sent") == 2
    assert value(found, "whichbits_cell_elapsed_seconds") == 2.5
    assert value(found, "whichbits_requests_finished_total", arm="a") == 1
    assert value(found, "whichbits_study_progress_ratio") == pytest.approx(1 / 6)

    found = study.finish(CELLS[0])
    assert value(found, "whichbits_cells", state="done") == 1
    assert value(found, "whichbits_cell_requests") is None
    assert value(found, "whichbits_requests_finished_total", arm="a") == 3
    assert value(found, "whichbits_requests_failed_total", arm="a") == 1
    assert value(found, "whichbits_client_verdicts", verdict="ok") == 1

    study.tell(CellStarted(CELLS[1], 3))
    study.finish(CELLS[1])
    found = study.tell(StudyFinished(interrupted=False))
    assert value(found, "whichbits_phase", phase="finished") == 1
    assert value(found, "whichbits_requests_finished_total", arm="a") == 6
    assert value(found, "whichbits_study_progress_ratio") == 1


def test_a_cell_that_has_just_been_written_is_not_counted_twice(study: Study) -> None:
    study.start()
    study.tell(CellStarted(CELLS[0], 3), CellProgress(3, 1, 3, 30, 1.0))
    study.writer.cell(ended(CELLS[0], RECORDS), RECORDS)

    assert value(study.tell(), "whichbits_requests_finished_total", arm="a") == 3


def test_histograms_hold_what_succeeded_and_add_up_over_repeats(study: Study) -> None:
    study.start()
    study.tell(CellStarted(CELLS[0], 3))
    found = study.finish(CELLS[0])
    here = {"arm": "a", "load": "c2"}

    # TTFT of 0.02 and 0.3 s; TPOT of 0.01 and 0.04 s; ten gaps of each answer.
    for bound, ttft in (("0.01", 0), ("0.025", 1), ("0.25", 1), ("0.5", 2), ("+Inf", 2)):
        assert value(found, "whichbits_ttft_seconds_bucket", le=bound, **here) == ttft
    assert value(found, "whichbits_ttft_seconds_sum", **here) == pytest.approx(0.32)
    for bound, tpot in (("0.005", 0), ("0.01", 1), ("0.03", 1), ("0.05", 2)):
        assert value(found, "whichbits_tpot_seconds_bucket", le=bound, **here) == tpot
    assert value(found, "whichbits_itl_seconds_bucket", le="0.01", **here) == 10
    assert value(found, "whichbits_itl_seconds_count", **here) == 20

    study.tell(CellStarted(CELLS[1], 3))
    assert value(study.finish(CELLS[1]), "whichbits_ttft_seconds_count", **here) == 4


def test_engines_are_told_of_while_their_cell_runs(study: Study) -> None:
    study.start()
    study.scraped(cell=0, running=1)
    found = study.tell(CellStarted(CELLS[1], 3))
    assert value(found, "whichbits_engine_requests_running", arm="a", replica="0") is None  # another cell's

    study.scraped(cell=1, running=2)
    study.scraped(cell=1, running=7)
    found = study.tell()
    assert value(found, "whichbits_engine_requests_running", arm="a", replica="0") == 7
    assert value(found, "whichbits_engine_kv_cache_usage_ratio", arm="a", replica="0") == 0.5
    assert value(found, "whichbits_engine_requests_waiting", arm="a", replica="0") is None


def test_a_scrape_that_is_still_being_written_is_waited_for(study: Study) -> None:
    study.start()
    study.tell(CellStarted(CELLS[0], 3))
    study.scraped(cell=0, running=3)
    path = during_path(study.writer.folder, "a", "0")
    whole = path.read_bytes()
    path.write_bytes(whole[:-9])
    assert value(study.tell(), "whichbits_engine_requests_running", arm="a", replica="0") is None

    path.write_bytes(whole)
    assert value(study.tell(), "whichbits_engine_requests_running", arm="a", replica="0") == 3


def test_names_cannot_forge_lines() -> None:
    cells = tuple(replace(cell, arm=HOSTILE, state="done", requests=4, failed=0) for cell in CELLS)
    text = exposition([WatchedRun(HOSTILE, manifest(name=HOSTILE, cells=cells))])

    families = {family.name: family for family in text_string_to_metric_families(text)}
    (finished,) = families["whichbits_requests_finished"].samples
    assert (finished.labels, finished.value) == ({"run": HOSTILE, "arm": HOSTILE}, 8)
    assert families["whichbits_run_info"].samples[0].labels["study"] == HOSTILE


def ask(address: str, host: str | None = None) -> tuple[int, str]:
    request = urllib.request.Request(address, headers={} if host is None else {"Host": host})  # noqa: S310 - loopback
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310 - loopback
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, refused.read().decode()


def test_the_endpoint_answers_this_machine_only() -> None:
    with endpoint("127.0.0.1", 0, lambda: "told\n") as address:
        assert ask(address) == (200, "told\n")
        assert ask(address.removesuffix("metrics"))[0] == 404
        assert ask(address, host="evil.example")[0] == 403


def raw(address: str, said: bytes) -> socket.socket:
    """Return a connection to the endpoint on which this was said."""
    port = int(address.split(":")[2].partition("/")[0])
    connection = socket.create_connection(("127.0.0.1", port), timeout=60)
    connection.sendall(said)
    return connection


def test_odd_clients_leave_the_study_s_stderr_alone(capfd: pytest.CaptureFixture[str]) -> None:
    def breaks() -> str:
        message = "no such scrape"
        raise OSError(message)

    with endpoint("127.0.0.1", 0, breaks) as address:
        assert ask(address) == (500, "The metrics cannot be told now: OSError: no such scrape\n")
        for said in (b"GET /metrics HTTP/1.1\r\nHost: [::1\r\n\r\n", b"GET //[ HTTP/1.1\r\nHost: localhost\r\n\r\n"):
            with raw(address, said) as connection:
                assert connection.recv(100).split()[1] in (b"403", b"404")
        with raw(address, b"GET /metr") as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # ends by a reset
        assert ask(address)[0] == 500
    assert capfd.readouterr().err == ""


def test_the_end_does_not_wait_for_a_client_that_says_nothing_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whichbits.report.prometheus.endpoint._PATIENCE_S", None)
    begun = threading.Event()

    def slow() -> str:
        begun.set()
        return "x" * 50_000_000  # more than a socket holds of what nobody reads

    with endpoint("127.0.0.1", 0, slow) as address:
        connection = raw(address, b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert begun.wait(60)
    assert "metrics" not in {thread.name for thread in threading.enumerate()}
    connection.close()


def test_clients_that_say_nothing_keep_no_scraper_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many there are: the scraper is answered while all but the oldest are still there."""
    monkeypatch.setattr("whichbits.report.prometheus.endpoint._PATIENCE_S", None)
    with endpoint("127.0.0.1", 0, lambda: "told\n") as address, ExitStack() as silent:
        oldest, *_ = [silent.enter_context(raw(address, b"GET /metr")) for _ in range(40)]
        assert ask(address) == (200, "told\n")
        assert oldest.recv(1) == b""  # hung up, for the sake of those who came later


def test_a_host_that_is_no_name_is_bad_input() -> None:
    with pytest.raises(BadInput) as raised:
        endpoint("a..b", 0, str).__enter__()
    assert raised.value.code == "metrics_no_port"


def test_an_empty_host_is_bad_input_and_not_every_interface() -> None:
    with pytest.raises(BadInput) as raised:
        endpoint("", 0, str).__enter__()
    assert raised.value.code == "host_empty"


def test_a_port_that_is_taken_is_bad_input() -> None:
    with endpoint("127.0.0.1", 0, str) as address:
        taken = endpoint("127.0.0.1", int(address.split(":")[2].partition("/")[0]), str)
        with pytest.raises(BadInput) as raised:
            taken.__enter__()

    assert raised.value.code == "metrics_no_port"
