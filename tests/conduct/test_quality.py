"""Asking an arm for quality costs a run nothing, whatever the server does."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.quality.fake_scorer import FakeScorer, serving
from tests.record.make_run import manifest
from whichbits.conduct.events import Event
from whichbits.conduct.quality import ask_about_quality, insist_on_quality, is_wanted
from whichbits.conduct.stage import Stage
from whichbits.conduct.stopping import Stopped
from whichbits.drive.crew.crew import Crew
from whichbits.errors import BadInput
from whichbits.quality.store import read_asked
from whichbits.record.schema import ArmRecord
from whichbits.record.writer import RunWriter
from whichbits.serve.arm import RunningArm
from whichbits.serve.endpoint.replica import Endpoint
from whichbits.study.model import Study


@dataclass
class OneServer:
    """A fleet of which only the place is known."""

    endpoints: tuple[Endpoint, ...]
    replicas: tuple[Any, ...] = ()


def running(name: str, endpoint: Endpoint) -> RunningArm:
    fleet: Any = OneServer((endpoint,))
    return RunningArm(ArmRecord(name, name, "openai", {}, ()), fleet)


def study(folder: Path, **quality: Any) -> Study:
    (folder / "texts").mkdir(exist_ok=True)
    (folder / "texts" / "own.txt").write_text("the quick brown fox\n", encoding="utf-8")
    return Study.model_validate(
        {
            "name": "s",
            "arms": {name: {"weight_format": name, "model": "m", "engine": "openai"} for name in ("bf16", "w4a16")},
            "traffic": {"kind": "random"},
            "loads": [1],
            "quality": {"texts": str(folder / "texts"), "answer_tokens": 4} | quality,
        }
    )


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    heard: list[Event] = []
    crew = Crew.inline()  # sends nothing here
    return Stage(study(tmp_path), RunWriter.create(tmp_path, manifest()), heard.append, asyncio.Event(), 0, crew)


async def test_the_reference_is_asked_twice_the_others_once_and_nobody_again(stage: Stage) -> None:
    async with serving(FakeScorer()) as endpoint:
        for arm in ("bf16", "w4a16"):
            assert is_wanted(stage, arm)
            await ask_about_quality(stage, running(arm, endpoint))
    said = read_asked(stage.writer.folder)

    assert [text.asking for text in said["bf16"].texts] == [0, 1]
    assert [text.asking for text in said["w4a16"].texts] == [0]
    assert not is_wanted(stage, "bf16")
    assert stage.writer.manifest.notes == ()


async def test_a_server_that_is_gone_is_a_note(stage: Stage) -> None:
    await ask_about_quality(stage, running("w4a16", Endpoint("127.0.0.1", 9, "m", None)))

    (note,) = stage.writer.manifest.notes
    assert note.startswith("w4a16: its quality is not known: http://127.0.0.1:9/")
    assert is_wanted(stage, "w4a16")


async def test_a_wish_to_stop_ends_the_asking(stage: Stage) -> None:
    stage.stop.set()

    with pytest.raises(Stopped):
        await ask_about_quality(stage, running("bf16", Endpoint("127.0.0.1", 9, "m", None)))
    assert read_asked(stage.writer.folder) == {}


def test_texts_that_are_not_there_are_known_before_anything_is_served(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="poetry"):
        insist_on_quality(study(tmp_path, domains=["poetry"]))


def test_a_study_without_a_wide_arm_names_its_reference(tmp_path: Path) -> None:
    whole = study(tmp_path).model_dump()
    narrow = whole | {"arms": {"w4a16": whole["arms"]["w4a16"]}}

    with pytest.raises(ValueError, match="no arm has 16 bits; name a reference"):
        Study.model_validate(narrow)
    with pytest.raises(ValueError, match="there is no arm fp8"):
        study(tmp_path, reference="fp8")
    assert study(tmp_path, reference="w4a16").quality_reference == "w4a16"
    assert Study.model_validate(narrow | {"quality": False}).quality is None
