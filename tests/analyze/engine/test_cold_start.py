"""A start by stages, from what the log said."""

from dataclasses import replace

import pytest

from tests.record.make_run import SyntheticArm, arm_record
from whichbits.analyze.engine.cold_start import cold_start
from whichbits.record.schema import Fact, ReplicaRecord


def replica(name: str, ready: float | None, **seconds: float) -> ReplicaRecord:
    (plain,) = arm_record("fp16", SyntheticArm(tpot_ms=lambda _: 1.0)).replicas
    facts = {fact: Fact(value, "server log") for fact, value in seconds.items()}
    return replace(plain, replica=name, ready_seconds=ready, facts=facts)


def test_a_start_is_split_and_what_is_left_is_process_and_imports() -> None:
    said = replica("0", 92.0, model_load_seconds=2.4, weights_load_seconds=1.9, compile_seconds=38.69)

    found = cold_start([replace(said, facts=said.facts | {"init_engine_seconds": Fact(45.0, "server log")})])

    assert found is not None
    assert (found.load, found.weights, found.compile, found.init) == (2.4, 1.9, 38.69, 45.0)
    assert found.rest == pytest.approx(44.6)
    assert found.download is found.cuda_graphs is found.beside is None


def test_a_start_beside_others_says_so() -> None:
    found = cold_start([replica("0", 120.0, started_beside=3)])

    assert found is not None
    assert found.beside == 3


def test_the_slowest_replica_says_when_the_arm_serves() -> None:
    found = cold_start([replica("0", 10.0), replica("1", 30.0, model_load_seconds=20.0)])

    assert found is not None
    assert (found.replica, found.ready, found.rest) == ("1", 30.0, None)


def test_servers_that_ran_already_have_no_start() -> None:
    assert cold_start([replica("0", None)]) is None
    assert cold_start([]) is None
