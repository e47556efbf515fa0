"""A study that is scraped while it runs."""

import re
import time
import urllib.request
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from tests.e2e.paced_engine import write_study
from tests.e2e.tool import AS_INSTALLED, good_exit, run_of, tool


def test_scrapes_follow_a_study_and_agree_with_what_it_records(tmp_path: Path) -> None:
    study = write_study(
        tmp_path,
        {"a": {"itl_ms": 8}},
        every_arm={"engine": "mock", "model": "whichbits-mock", "options": {"ttft_ms": 5, "prefix_cache": True}},
        traffic={"kind": "random", "input_tokens": 40, "output_tokens": 24},
        loads=[2],
        repeats=2,
        cell={"per_stream": 8, "at_least": 16},
    )
    seen: list[dict[str, float]] = []
    with tool(tmp_path, "run", study, "--plain", "--metrics-port", "0", program=AS_INSTALLED) as running:
        running.wait_for("metrics at http://")
        address = re.findall(r"metrics at (\S+)", running.stderr)[0]
        while running.returncode is None:
            seen += scraped(address)
            time.sleep(0.1)
        code = running.wait()

    run = run_of(tmp_path)
    assert code == good_exit(run)
    finished = [scrape["whichbits_requests_finished_total"] for scrape in seen]
    assert finished == sorted(finished)
    assert len(set(finished)) > 2  # it moves within cells
    assert finished[-1] <= sum(cell.requests or 0 for cell in run.cells) == 32
    running_requests = [scrape.get("whichbits_engine_requests_running", 0) for scrape in seen]
    assert 1 <= max(running_requests) <= 2


def scraped(address: str) -> list[dict[str, float]]:
    """Return one scrape's unlabelled view, or nothing before there is a run and after its end."""
    try:
        with urllib.request.urlopen(address, timeout=5) as answer:  # noqa: S310 - loopback
            text = answer.read().decode()
    except OSError:  # the study has ended
        return []
    families = text_string_to_metric_families(text)
    found = {sample.name: sample.value for family in families for sample in family.samples}
    return [found] if found else []
