"""Servers that share a card are added up before anything starts."""

import sys
from pathlib import Path
from typing import Any

import pytest

from whichbits.doctor.diagnosis import Diagnosis, Patient
from whichbits.doctor.interpreter import Distribution, Interpreter
from whichbits.doctor.together import check_together
from whichbits.study.model import Study
from whichbits.study.read import read_study

PLAIN = {"engine": "vllm", "model": "qwen2.5-7b", "max_model_len": 4096, "gpus": [0]}
"""Weights of 14.2 GiB in 16 bits, 5.2 in 4; an H200 shows a process some 140."""


def study(**keys: Any) -> Study:
    arms = {"fp16": {"weight_format": "fp16"}, "w4a16": {"weight_format": "w4a16", "model": "qwen2.5-7b"}}
    plain = {"name": "s", "gpu": "H200", "engine_version": "0.25.1", "arms": arms, "arms_together": True}
    every_arm = PLAIN | keys.pop("every_arm", {})
    return Study.model_validate(plain | {"traffic": {"kind": "chat"}, "loads": [1], "every_arm": every_arm, **keys})


def said(asked: Study, *interpreters: Interpreter) -> list[Diagnosis]:
    return list(check_together(Patient(interpreters, asked)))


@pytest.mark.parametrize(
    ("every_arm", "code"),
    [
        ({"gpu_memory_utilization": 0.45}, "servers_fit"),
        ({"gpu_memory_utilization": 0.55}, "servers_too_many"),
        ({"kv_cache_gib": 14, "gpu_memory_utilization": 0.45}, "servers_fit"),
        ({"kv_cache_gib": 14}, "server_insists"),
        ({"kv_cache_gib": 60, "gpu_memory_utilization": 0.2}, "servers_too_many"),
    ],
)
def test_what_two_servers_at_once_take_of_a_card(every_arm: dict[str, Any], code: str) -> None:
    (found,) = said(study(every_arm=every_arm))

    assert found.code == code
    assert found.subject == "GPU 0"


def test_what_it_proposes_is_enough() -> None:
    (refused,) = said(study(every_arm={"kv_cache_gib": 14}))
    proposed = float((refused.fix or "").rsplit(" ", 1)[1])

    assert 0.7 < proposed < 0.92
    assert [each.code for each in said(study(every_arm={"kv_cache_gib": 14, "gpu_memory_utilization": proposed}))] == [
        "servers_fit"
    ]


@pytest.mark.parametrize("keys", [{"arms_together": False}, {"arms_together": "sleep"}, {"gpu": None}])
def test_servers_that_are_not_up_at_once_or_on_no_known_card_are_not_added_up(keys: dict[str, Any]) -> None:
    assert said(study(every_arm={"gpu_memory_utilization": 0.9}, **keys)) == []


def test_shares_that_differ_are_each_held_against_what_the_others_leave() -> None:
    arms = {"small": {"weight_format": "w4a16", "gpu_memory_utilization": 0.3}}
    arms |= {"large": {"weight_format": "fp16", "gpu_memory_utilization": 0.6}}

    assert [each.code for each in said(study(arms=arms))] == ["servers_fit"]


def test_replicas_on_one_card_are() -> None:
    (one, other) = said(study(arms_together=False, every_arm={"replicas": 2}))

    assert (one.code, other.code) == ("servers_fit", "servers_fit")


def test_replicas_divide_a_card_among_themselves_whoever_else_is_there() -> None:
    """As they are started: 0.45 each of an H200's 139.8 GiB, beside an arm that takes a twentieth."""
    arms: dict[str, dict[str, Any]] = {"two": {"weight_format": "w4a16", "replicas": 2}}
    arms |= {"one": {"weight_format": "w4a16", "gpu_memory_utilization": 0.05}}

    assert [each.found for each in said(study(arms=arms))] == ["3 servers at once take about 133 GiB of 140"]


def test_an_installed_version_counts_before_the_one_that_the_study_names() -> None:
    """0.10 takes 0.9 of a card unless it is told, 0.25 takes 0.92."""
    arms: dict[str, dict[str, Any]] = {"plain": {"weight_format": "w4a16"}}
    arms |= {"small": {"weight_format": "w4a16", "gpu_memory_utilization": 0.09}}
    installed = Interpreter(sys.executable, "3.11.7", {}, {"vllm": Distribution("vllm", "0.10.0")})

    assert [each.code for each in said(study(arms=arms))] == ["servers_too_many"]
    assert [each.code for each in said(study(arms=arms), installed)] == ["servers_fit"]


@pytest.mark.parametrize("name", ["search", "eager", "profiles", "chat", "weights"])
def test_the_studies_of_an_h200_fit_it(name: str) -> None:
    found = read_study(Path(__file__).parents[2] / f"studies/h200/qwen2.5-7b-{name}.yaml")
    known = {arm: of.model_copy(update={"model": "qwen2.5-7b"}) for arm, of in found.arms.items()}
    placed = found.model_copy(update={"gpu": "H200", "engine_version": "0.25.1", "arms": known})

    assert [each.code for each in said(placed)] == ["servers_fit"]
