"""Another run's requests once more: exactly where its study plans them, else its lengths and times."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.record.make_run import manifest, record
from tests.traffic.studies import WORDS, file_of, study
from whichbits.errors import BadInput
from whichbits.record.schema import Cell, RequestRecord
from whichbits.record.writer import RunWriter
from whichbits.study.model import Load, Study
from whichbits.traffic.plan import PlannedRequest, plan_cell, plan_warm_up, traffic_facts

RATE, STREAMS = Load(request_rate=2.0), Load(concurrency=4)
SOURCE = study({"kind": "random", "range_ratio": 0.4}, cell={"requests": 12}, seed=9)
BEGAN_NS = 5_000_000_000


def run_of(folder: Path, source: Study | None, loads: Sequence[Load] = (RATE, STREAMS), repeats: int = 2) -> Path:
    """A run of two arms; where the study is None it was imported, and its requests are plain."""
    known = source or SOURCE
    made = replace(manifest(), source="measured" if source else "imported", study=known.model_dump(mode="json"))
    writer = RunWriter.create(folder, made if source else replace(made, study={"name": "other"}))
    number = 0
    for arm in ("a", "b"):
        for load in loads:
            for repeat in range(repeats):
                records = [_record(request, number) for request in plan_cell(known, load, repeat)]
                cell = Cell(number, arm, load.concurrency, load.request_rate, repeat, "done", len(records), 0)
                writer.cell(replace(cell, started_ns=BEGAN_NS, finished_ns=BEGAN_NS + 10**10), records)
                number += 1
    return writer.finish()


def _record(request: PlannedRequest, cell: int) -> RequestRecord:
    due = request.offset_ns if request.offset_ns is not None else 1000 * request.index + cell
    known = replace(record(request.index, BEGAN_NS + due), prompt_tokens=len(request.prompt))
    return replace(known, scheduled_ns=BEGAN_NS + due, requested_output_tokens=request.output_tokens)


def replaying(run: Path, arm: str | None = None, **more: Any) -> Study:
    return study({"kind": "run", "path": str(run), "arm": arm}, **more)


def test_a_run_of_ours_is_replayed_to_the_token_and_the_nanosecond(tmp_path: Path) -> None:
    again = replaying(run_of(tmp_path, SOURCE))

    for repeat in (0, 1):
        assert plan_cell(again, RATE, repeat) == plan_cell(SOURCE, RATE, repeat)
        assert plan_cell(again, STREAMS, repeat) == plan_cell(SOURCE, STREAMS, repeat)
    assert traffic_facts(again)["prompts"] == "as planned there"


def test_an_imported_run_lends_its_lengths_and_times_and_the_record_says_so(tmp_path: Path) -> None:
    again = replaying(run_of(tmp_path, None))
    was, now = plan_cell(SOURCE, RATE, 0), plan_cell(again, RATE, 0)

    assert [(len(r.prompt), r.output_tokens, r.offset_ns) for r in now] == [
        (len(r.prompt), r.output_tokens, r.offset_ns) for r in was
    ]
    assert {r.prompt for r in now}.isdisjoint({r.prompt for r in was})
    assert "drawn anew" in traffic_facts(again)["prompts"]


def test_more_requests_than_the_run_had_begin_anew_with_other_ids(tmp_path: Path) -> None:
    again = study({"kind": "run", "path": str(run_of(tmp_path, SOURCE))}, cell={"requests": 30})
    requests = plan_cell(again, RATE, 0)
    due = [request.offset_ns or 0 for request in requests]

    assert [request.index for request in requests] == list(range(30))
    assert due == sorted(due)
    assert [r.output_tokens for r in requests[12:24]] == [r.output_tokens for r in requests[:12]]
    assert len({request.prompt for request in requests}) == 30


def test_sessions_keep_who_follows_whom(tmp_path: Path) -> None:
    chat = study({"kind": "sessions", "turns": 3}, cell={"requests": 9}, seed=2)
    requests = plan_cell(replaying(run_of(tmp_path, chat, loads=(STREAMS,))), STREAMS, 0)
    was = plan_cell(chat, STREAMS, 0)

    assert requests == was
    assert [request.follows for request in requests] == [None, 0, 1, None, 3, 4, None, 6, 7]


def test_a_warm_up_takes_lengths_of_the_run_and_ids_of_its_own(tmp_path: Path) -> None:
    again = replaying(run_of(tmp_path, SOURCE))
    warm = plan_warm_up(again, 0)
    used = {request.prompt for load in (RATE, STREAMS) for request in plan_cell(again, load, 0)}

    assert len(warm) == again.warm_up.at_least_requests
    assert {request.offset_ns for request in warm} == {None}
    assert used.isdisjoint({request.prompt for request in warm})


def test_a_replay_can_be_replayed(tmp_path: Path) -> None:
    first = replaying(run_of(tmp_path, SOURCE))
    second = replaying(run_of(tmp_path, first))

    assert plan_cell(second, RATE, 1) == plan_cell(SOURCE, RATE, 1)
    assert plan_warm_up(second, 1)


def test_a_load_that_the_run_lacks_is_refused_with_those_it_has(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"2/s, c4") as caught:
        plan_cell(replaying(run_of(tmp_path, SOURCE)), Load(concurrency=5), 0)

    assert caught.value.code == "replay_without_load"


def test_an_arm_that_the_run_lacks_is_refused(tmp_path: Path) -> None:
    run = run_of(tmp_path, SOURCE)

    assert plan_cell(replaying(run, arm="b"), RATE, 0) == plan_cell(SOURCE, RATE, 0)
    with pytest.raises(BadInput) as caught:
        plan_cell(replaying(run, arm="c"), RATE, 0)
    assert caught.value.code == "replay_unusable"


def test_a_run_of_words_is_replayed_in_words(tmp_path: Path) -> None:
    lines = file_of(tmp_path, '{"prompt": "why", "output_tokens": 3}\n')
    words = study({"kind": "jsonl", "path": lines}, cell={"requests": 2}, request=WORDS)
    run = run_of(tmp_path, words, loads=(STREAMS,))

    assert plan_cell(replaying(run, request=WORDS), STREAMS, 0) == plan_cell(words, STREAMS, 0)
    with pytest.raises(BadInput) as caught:
        plan_cell(replaying(run), STREAMS, 0)
    assert caught.value.code == "traffic_needs_text"


def test_a_run_whose_file_has_changed_since_is_not_replayed(tmp_path: Path) -> None:
    lines = file_of(tmp_path, '{"prompt": "why", "output_tokens": 3}\n')
    words = study({"kind": "jsonl", "path": lines}, cell={"requests": 2}, request=WORDS)
    run = run_of(tmp_path, words, loads=(STREAMS,))
    writer = RunWriter.reopen(run)
    writer._store(replace(writer.manifest, traffic=traffic_facts(words)))
    assert traffic_facts(replaying(run))["run"] == "synthetic"

    file_of(tmp_path, '{"prompt": "how", "output_tokens": 3}\n{"prompt": "why", "output_tokens": 3}\n')
    with pytest.raises(BadInput) as caught:
        traffic_facts(replaying(run))
    assert caught.value.code == "traffic_changed"


@pytest.mark.parametrize("content", [None, "{}", "not json"])
def test_what_is_no_run_is_refused(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        file_of(tmp_path, content, "run.json")
    with pytest.raises(BadInput) as caught:
        plan_cell(replaying(tmp_path), RATE, 0)

    assert caught.value.code in {"run_not_found", "run_broken"}
