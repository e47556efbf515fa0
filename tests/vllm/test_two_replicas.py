"""Two replicas under the first seed's traffic, scaled down: launched, reset, driven, counted and gone."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.tool import AS_INSTALLED, run_of, states, tool
from tests.vllm.family import descendants, still_alive
from tests.vllm.studies import PREFIX_TOKENS, TRAFFIC, arm, write_study
from whichbits.analyze.engine.counted import counted
from whichbits.record.run import Run
from whichbits.record.scrapes import Phase
from whichbits.study.model import Load, Study
from whichbits.traffic.plan import plan_cell

pytestmark = pytest.mark.vllm

LOADS = [{"request_rate": 10, "concurrency": 8}, {"concurrency": 8}]
# Long enough that several requests are under way at any moment, however fast the machine: a scrape a second sees some.
OUTPUT_TOKENS = 128


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, vllm_python: Path, model: Path) -> tuple[Run, list[int], int]:
    """The run, the pids of all that served it, and the exit code."""
    folder = tmp_path_factory.mktemp("two")
    two = arm(vllm_python, model, replicas=2, balance="connection_random")
    study = write_study(folder, {"bf16": two}, loads=LOADS, traffic=TRAFFIC | {"output_tokens": OUTPUT_TOKENS})
    with tool(folder, "run", study, program=AS_INSTALLED) as running:
        running.wait_for("bf16: ready")
        pids = descendants(running)
        code = running.wait()
    return run_of(folder), pids, code


def test_every_cell_is_measured_and_every_process_is_gone(finished: tuple[Run, list[int], int]) -> None:
    run, pids, code = finished

    assert states(run) == ["done", "done"]
    assert {cell.failed for cell in run.cells} == {0}
    assert code in (0, 6)
    assert len(pids) >= 6  # for each replica its leash, API server, engine core and worker
    assert still_alive(pids) == []


def test_each_replica_says_who_it_is(finished: tuple[Run, list[int], int]) -> None:
    run, _, _ = finished
    record = run.manifest.arms["bf16"]

    assert [replica.replica for replica in record.replicas] == ["0", "1"]
    for replica in record.replicas:
        said = {name: fact.value for name, fact in replica.facts.items()}
        expected = {
            "engine_version": said["engine_version"],
            "dtype": "bfloat16",
            "quantization": None,
            "enforce_eager": True,
            "enable_prefix_caching": True,
            "max_model_len": 1024,
            "block_size": 32,
            "kv_cache_tokens": 2**30 // 512,
            "device": "cpu",
        }
        assert {name: said.get(name) for name in expected} == expected
        assert replica.facts["kv_cache_tokens"].line
        assert replica.facts["gpu_blocks"].source == "GET /metrics"
        assert replica.environment["VLLM_API_KEY"] == "***"
    assert record.checkpoint["linear_bits"].value == 16
    assert record.checkpoint["checkpoint_source"].value == "config"


def test_the_books_balance_to_the_token_on_each_replica(finished: tuple[Run, list[int], int]) -> None:
    run, _, _ = finished
    grown = counted(run.each_scrape())

    for cell in run.cells:
        sent = Counter(record.replica for record in run.records(cell.cell))
        assert set(sent) == {"0", "1"}
        assert sum(sent.values()) == 48
        for replica, requests in sent.items():
            total = grown[cell.cell][str(replica)].total
            assert total.requests_finished == requests
            assert total.prompt_tokens == requests * 112
            assert total.generation_tokens == requests * OUTPUT_TOKENS
    assert "books_disagree" not in (run.folder / "summary.json").read_text()


def test_a_cell_is_watched_while_it_ran(finished: tuple[Run, list[int], int]) -> None:
    run, _, _ = finished
    summary: dict[str, Any] = json.loads((run.folder / "summary.json").read_text())

    paced, _ = run.cells  # its arrivals alone take seconds; the other may be over before the second scrape
    during = [scrape for scrape in run.each_scrape("during") if scrape.cell == paced.cell]
    assert {scrape.replica for scrape in during} == {"0", "1"}
    for scrape in during:
        begun, over = (around(run, phase, paced.cell, scrape.replica) for phase in ("before", "after"))
        assert begun < scrape.time_ns < over
    assert 0 < summary["cells"][0]["requests_running"]["peak"] <= 8
    assert all(cell["hit_rate_as_expected"] for cell in summary["cells"])


def around(run: Run, phase: Phase, cell: int, replica: str) -> int:
    """Return when a replica was scraped before a cell, or after it."""
    (found,) = [each for each in run.each_scrape(phase) if (each.cell, each.replica) == (cell, replica)]
    return found.time_ns


def test_hits_are_what_the_traffic_repeats(finished: tuple[Run, list[int], int]) -> None:
    """A replica misses each prefix once, and has it from then on."""
    run, _, _ = finished
    grown = counted(run.each_scrape())
    study = Study.model_validate(run.manifest.study)

    for cell in run.cells:
        assert cell.cache_state == "reset"
        planned = plan_cell(study, Load(concurrency=cell.concurrency, request_rate=cell.request_rate), cell.repeat)
        prefixes = {request.index: request.prefix for request in planned}
        for replica in ("0", "1"):
            met = [prefixes[record.index] for record in run.records(cell.cell) if record.replica == replica]
            repeated = len(met) - len(set(met))
            assert repeated > 0
            assert grown[cell.cell][replica].total.prefix_hit_tokens == repeated * PREFIX_TOKENS


def test_the_summary_has_the_hit_rate_of_each_replica_and_of_both(finished: tuple[Run, list[int], int]) -> None:
    run, _, _ = finished
    summary: dict[str, Any] = json.loads((run.folder / "summary.json").read_text())
    grown = counted(run.each_scrape())

    for cell in summary["cells"]:
        sent = Counter(record.replica for record in run.records(cell["cell"]))
        hits = {name: page.total.prefix_hit_tokens or 0 for name, page in grown[cell["cell"]].items()}
        rates = {replica["replica"]: replica["hit_rate"] for replica in cell["replicas"]}
        assert rates == pytest.approx({name: hit / (sent[name] * 112) for name, hit in hits.items()})
        assert cell["prefix_hit_rate"] == pytest.approx(sum(hits.values()) / (48 * 112))
    assert summary["arms"]["bf16"]["kv_cache_tokens"] == 2**30 // 512
