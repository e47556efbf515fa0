"""Traffic that shares more than the simulated cache knows is refused; everything else is played with what it shares."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.predict.test_run import SMALL
from whichbits.errors import BadInput
from whichbits.predict.cell import play_cell
from whichbits.predict.constants import default_constants
from whichbits.predict.run import deployments, question_of, refuse_impossible
from whichbits.record.schema import Cell
from whichbits.study.model import Study

CELL = Cell(0, "w8a8", 4, None, 0)


def of(traffic: dict[str, Any], **more: Any) -> Study:
    return Study.model_validate(SMALL.model_dump(mode="json") | {"traffic": traffic} | more)


def trace(folder: Path, blocks: list[int]) -> dict[str, Any]:
    row = {"timestamp": 1, "input_length": 30, "output_length": 4, "hash_ids": blocks}
    path = folder / "trace"
    path.write_text(json.dumps(row), encoding="utf-8")
    return {"kind": "trace", "path": str(path)}


def test_a_shared_prompt_is_one_prefix_of_all_requests() -> None:
    work = question_of(of({"kind": "shared_prompt", "shared_tokens": 512, "input_tokens": 16}), CELL).work

    assert (work.prefix_tokens, set(work.prefix), set(work.prompt_tokens)) == (512, {0}, {528})


def test_arrivals_are_the_study_s() -> None:
    cell = Cell(0, "w8a8", None, 2.0, 0)
    work = question_of(of({"kind": "random"}, arrivals="constant", cell={"requests": 4}), cell).work

    assert work.offset_s == [0.5, 1.0, 1.5, 2.0]


def test_a_trace_without_hashes_is_played(tmp_path: Path) -> None:
    assert set(question_of(of(trace(tmp_path, [])), CELL).work.prompt_tokens) == {30}


def test_blocks_that_are_shared_by_hash_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as caught:
        refuse_impossible(of(trace(tmp_path, [1])), default_constants())
    assert caught.value.code == "traffic_not_predicted"


def test_sessions_find_what_they_sent_before_and_what_all_share() -> None:
    """Prompts of 64 + 32 tokens, then 32 + 16 more a turn: two turns of three find the prompt of the turn before."""
    traffic = {"kind": "sessions", "turns": 3, "shared_tokens": 64, "first_tokens": 32, "input_tokens": 16}
    study = of(traffic | {"output_tokens": 32, "range_ratio": 0.0, "think_seconds": 0.1}, cell={"requests": 12})
    question = question_of(study, CELL)
    played = play_cell(deployments(study)["w8a8"], question, default_constants())
    work = question.work
    found = {work.prompt_tokens[at]: played.cached_tokens[at] for at in range(8, 12)}
    assert work.prefix_tokens == 64
    assert sorted(set(work.prompt_tokens)) == [96, 144, 192]
    assert set(played.cached_tokens[: work.beginnings]) == {0, 64}
    assert found[192] == 144
    assert {played.cached_tokens[at] for at in range(12) if work.prompt_tokens[at] == 144} == {96}
