"""Which servers may start at once, and what is kept of what they then say."""

from typing import Any

import pytest

from whichbits.record.schema import Fact, ReplicaRecord
from whichbits.serve.neighbours import may_start_at_once, servers_of, told_of_neighbours
from whichbits.study.arm import Arm

SAID = {"model_memory_gib": Fact(14.2, "server log"), "cuda_graph_gib": Fact(3.1, "server log")}
RECORD = ReplicaRecord("0", ("vllm",), {}, "http://127.0.0.1:8000", 90.0, None, SAID)


def mock(**keys: Any) -> Arm:
    return Arm.model_validate({"weight_format": "bf16", "model": "any", "engine": "mock"} | keys)


def test_only_servers_that_are_started_and_measure_keep_others_from_starting() -> None:
    embedded = mock(engine="embedded")
    attached = mock(engine="sglang", target="http://127.0.0.1:8000")

    assert may_start_at_once([mock(), mock(), attached])
    assert not may_start_at_once([mock(), embedded])
    assert (servers_of(mock(replicas=2)), servers_of(attached)) == (2, 0)


@pytest.mark.parametrize(("beside", "on_the_card"), [(0, False), (0, True)])
def test_a_start_alone_says_what_it_said(beside: int, on_the_card: bool) -> None:
    assert told_of_neighbours([RECORD], beside, on_the_card=on_the_card) == (RECORD,)


def test_what_is_read_off_the_cards_free_memory_is_not_believed_beside_others() -> None:
    (found,) = told_of_neighbours([RECORD], 3, on_the_card=True)

    assert found.facts == {"model_memory_gib": SAID["model_memory_gib"], "started_beside": Fact(3, "whichbits")}


def test_others_on_other_cards_only_slow_it() -> None:
    (found,) = told_of_neighbours([RECORD], 1, on_the_card=False)

    assert found.facts == SAID | {"started_beside": Fact(1, "whichbits")}
