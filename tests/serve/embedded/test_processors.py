"""The engine starts and answers on older processors, as OpenVINO imitates them, and on a single core."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.serve.embedded.running_server import serving
from whichbits.serve.embedded.facts import read_facts
from whichbits.serve.embedded.messages import EngineSettings
from whichbits.serve.embedded.pipeline import compile_properties
from whichbits.serve.embedded.threads import computing_threads


@pytest.fixture
def one_core() -> Iterator[None]:
    """This process, and what it starts, confined to one core."""
    all_cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(all_cores)})
    yield
    os.sched_setaffinity(0, all_cores)


# What the processor lacks cannot be imitated: a level above its own changes nothing.
@pytest.mark.parametrize("level", ["AVX2", "AVX512_CORE", "AVX512_CORE_VNNI", "AVX512_CORE_BF16"])
def test_every_processor_serves(tiny_model: Path, tmp_path: Path, level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OV_CPU_MAX_ISA", level)
    with serving(tiny_model, tmp_path / "log") as server:
        answer = server.complete([5, 6, 7], max_tokens=3, ignore_eos=True)

    assert answer["usage"]["completion_tokens"] == 3


@pytest.mark.usefixtures("one_core")
def test_one_core_serves_in_32_bits(tiny_model: Path, tmp_path: Path) -> None:
    with serving(tiny_model, tmp_path / "log") as server:
        answer = server.complete([5, 6, 7], max_tokens=3, ignore_eos=True)
    facts = read_facts((tmp_path / "log").read_text())

    assert answer["usage"]["completion_tokens"] == 3
    assert (facts["threads"].value, facts["dtype"].value) == (1, "f32")


@pytest.mark.usefixtures("one_core")
def test_a_core_that_is_not_ours_computes_nothing() -> None:
    assert computing_threads(None) == computing_threads(2) == 1


def test_one_thread_never_computes_in_bfloat16() -> None:
    alone = EngineSettings(model="", threads=1)
    assert compile_properties(alone)["INFERENCE_PRECISION_HINT"] == "f32"
