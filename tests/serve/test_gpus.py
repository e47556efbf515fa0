"""Replicas get a GPU each where there are enough, and share them where there are not."""

from typing import Any

from whichbits.serve.gpus import places
from whichbits.study.arm import Arm


def shares(**more: Any) -> list[tuple[tuple[int, ...] | None, int]]:
    arm = Arm.model_validate({"weight_format": "bf16", "model": "m"} | more)
    return [(place.gpus, place.servers_per_gpu) for place in places(arm, "127.0.0.1")]


def test_one_replica_is_left_to_the_environment() -> None:
    assert shares() == [(None, 1)]


def test_several_replicas_get_a_gpu_each() -> None:
    assert shares(replicas=2) == [((0,), 1), ((1,), 1)]


def test_replicas_in_parallel_get_neighbouring_gpus() -> None:
    assert shares(replicas=2, tensor_parallel_size=2) == [((0, 1), 1), ((2, 3), 1)]


def test_named_gpus_that_are_too_few_are_shared() -> None:
    assert shares(replicas=3, gpus=[5, 7]) == [((5,), 2), ((7,), 1), ((5,), 2)]


def test_every_place_has_its_own_port() -> None:
    found = places(Arm(weight_format="bf16", model="m", replicas=3), "127.0.0.1")

    assert len({place.port for place in found}) == 3
