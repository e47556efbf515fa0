"""A study that is scraped while it runs."""

import re
import time
import urllib.request
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from tests.e2e.paced_engine import write_study
from tests.e2e.tool import eventually, good_exit, run_of, tool

FINISHED = "whichbits_requests_finished_total"
RUNNING = "whichbits_engine_requests_running"


def test_scrapes_follow_a_study_and_agree_with_what_it_records(tmp_path: Path) -> None:
    """Its second cell stalls when two of its four requests have ended, until that was seen by a scrape."""
    gate = tmp_path / "gate"
    study = write_study(tmp_path, {"a": {"stalls_at": 11, "gate": str(gate)}})
    seen: list[dict[str, float]] = []
    with tool(tmp_path, "run", study, "--plain", "--metrics-port", "0") as running:
        running.wait_for("metrics at http://")
        address = re.findall(r"metrics at (\S+)", running.stderr)[0]

        def stall_is_seen() -> bool:
            seen.extend(scraped(address))
            assert running.returncode is None, running.stderr
            return bool(seen) and (seen[-1][FINISHED], seen[-1].get(RUNNING)) == (4 + 2, 2)

        eventually(stall_is_seen)
        gate.touch()
        while running.returncode is None:
            seen += scraped(address)
            time.sleep(0.1)
        code = running.wait()

    run = run_of(tmp_path)
    assert code == good_exit(run)
    finished = [scrape[FINISHED] for scrape in seen]
    assert finished == sorted(finished)
    assert finished[-1] <= sum(cell.requests or 0 for cell in run.cells) == 8
    assert max(scrape.get(RUNNING, 0) for scrape in seen) == 2


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
