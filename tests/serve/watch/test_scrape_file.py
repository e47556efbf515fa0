"""A run's file of scrapes reads as the last of them."""

from pathlib import Path

from whichbits.record.scrapes import Scrape, append_scrape
from whichbits.serve.watch.scrape_file import recognise


def scrapes(folder: Path, *texts: str) -> str:
    for number, text in enumerate(texts):
        append_scrape(folder, Scrape("w4a16", "0", number, "after", 5 * number, text))
    return (folder / "scrapes" / "w4a16-0.jsonl").read_text()


def test_the_last_scrape_is_read(tmp_path: Path) -> None:
    found = recognise("any", scrapes(tmp_path, "vllm:num_preemptions_total 1.0\n", "vllm:num_preemptions_total 4.0\n"))

    assert found is not None
    assert (found.kind, found.engine) == ("metrics", "vllm")
    assert found.facts == {
        "scrapes": 2, "arm": "w4a16", "replica": "0", "cell": 1, "phase": "after", "num_preemptions": 4,
    }  # fmt: skip


def test_the_torn_line_of_a_kill_is_left_out(tmp_path: Path) -> None:
    text = scrapes(tmp_path, "vllm:num_preemptions_total 1.0\n", "vllm:num_preemptions_total 4.0\n")

    found = recognise("any", text[:-20])

    assert found is not None
    assert (found.facts["scrapes"], found.facts["num_preemptions"]) == (1, 1)


def test_other_records_are_no_scrapes(tmp_path: Path) -> None:
    assert recognise("any", '{"arm": 3}\n') is None
    assert recognise("any", '{"prompt": "x"}\n') is None
    assert recognise("any", scrapes(tmp_path, "an error page")) is None
