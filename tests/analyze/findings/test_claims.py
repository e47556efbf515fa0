"""An arm of which nobody says what it is, is named; one that somebody confirms is not."""

from dataclasses import replace
from typing import Any

import pytest

from tests.analyze.make_observed import found
from tests.record.make_run import manifest
from whichbits.analyze.findings import Observed
from whichbits.analyze.findings.claims import claims_not_proven
from whichbits.record.schema import ArmRecord, Fact, ReplicaRecord, Source


def seen(
    checkpoint: dict[str, Any], *replicas: dict[str, Any], source: Source = "measured", **settings: Any
) -> Observed:
    records = tuple(
        ReplicaRecord(str(index), (), {}, "http://h:1", None, None, {name: Fact(facts[name], "") for name in facts})
        for index, facts in enumerate(replicas)
    )
    files = {name: Fact(value, "") for name, value in checkpoint.items()}
    arms = {"far": ArmRecord("far", "w4a16", "vllm", files, records)}
    study = {"arms": {"far": {"target": {"urls": ["http://h:1"]}} | settings}}
    return Observed(replace(manifest(), study=study, arms=arms, source=source), ())


def test_silence_of_all_is_named_with_what_would_end_it() -> None:
    (finding,) = found(claims_not_proven, seen({}, {"max_model_len": 4096}))

    assert finding.text.startswith("Nothing shows that far is w4a16")
    assert finding.evidence == ("far: no fact linear_bits, quantization, quant_kernel_for and quant_kernels",)
    assert "target.logs" in (finding.settled_by or "")


@pytest.mark.parametrize(
    "told",
    [
        seen({"linear_bits": 4}, {}),
        seen({}, {"quantization": None}),
        seen({}, {"quantization": "awq"}, {"quant_kernels": "Marlin"}),
        seen({}, {}, source="imported"),
        seen({}),
    ],
)
def test_one_word_of_each_server_or_of_the_files_is_enough(told: Observed) -> None:
    assert not found(claims_not_proven, told)


def test_one_silent_replica_is_enough_to_doubt() -> None:
    assert found(claims_not_proven, seen({}, {"quantization": "awq"}, {}))


def test_settings_that_the_server_does_not_tell_are_named() -> None:
    asked = seen({"linear_bits": 4}, {"dtype": "float16"}, dtype="float16", max_num_seqs=4, block_size=None)
    (finding,) = found(claims_not_proven, asked)

    assert finding.text.startswith("What the study says of max_num_seqs of far was not applied")
    assert finding.evidence == ("far: no fact max_num_seqs",)
