"""From an arm to a server that is what the arm claims."""

from pathlib import Path

import pytest

from tests.serve.embedded.running_server import serving
from whichbits.errors import BadInput
from whichbits.record.schema import Fact
from whichbits.serve.embedded.launch import EmbeddedEngine
from whichbits.serve.engine import Place
from whichbits.study.arm import Arm

ENGINE = EmbeddedEngine()


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHICHBITS_CACHE", str(tmp_path / "cache"))


def test_a_four_bit_arm_is_served_as_claimed(tiny_model: Path, tmp_path: Path) -> None:
    arm = Arm(weight_format="w4a16", model=str(tiny_model), options={"threads": 1, "enable_prefix_caching": False})
    prepared = ENGINE.prepare(arm)
    flags = ENGINE.command(arm, prepared, Place("127.0.0.1", 0)).argv[3:]
    # The test brings its own port, so the pair before and after it are cut out.
    own_flags = [*flags[2:4], *flags[6:]]
    with serving(Path(prepared.model_path), tmp_path / "log", *own_flags) as server:
        answer = server.complete([5, 6, 7], model=ENGINE.served_model(arm), max_tokens=3)
    facts = ENGINE.read_facts((tmp_path / "log").read_text())

    assert answer["model"] == "tiny"
    assert (facts["quantization"].value, facts["enable_prefix_caching"].value) == ("u4", False)
    # A first start also logs the conversion's compilation, with OpenVINO's own group size and threads.
    assert (facts["activation_quantization_group_size"].value, facts["threads"].value) == (0, 1)
    assert ENGINE.verify(arm, prepared.checkpoint, facts) == []
    claims_eight = arm.model_copy(update={"weight_format": "w8a16"})
    assert len(ENGINE.verify(claims_eight, prepared.checkpoint, facts)) == 2


def test_an_arm_whose_activations_are_quantised_against_its_claim_is_found_out() -> None:
    arm = Arm(weight_format="w8a16", model="smollm2-135m-instruct")
    checkpoint = {"linear_bits": Fact(8, "test")}
    facts = {"activation_quantization_effective": Fact(value=True, source="test")}

    (reason,) = ENGINE.verify(arm, checkpoint, facts)
    assert "activations" in reason


@pytest.mark.parametrize(
    ("arm", "message"),
    [
        ({"weight_format": "w8a8-fp8"}, "cannot serve w8a8-fp8"),
        ({"weight_format": "fp16", "options": {"max_num_seq": 8}}, "did you mean 'max_num_seqs'"),
        ({"weight_format": "fp16", "options": {"threads": True}}, "threads cannot be True"),
        ({"weight_format": "fp16", "options": {"enable_prefix_caching": "no"}}, "cannot be 'no'"),
    ],
)
def test_what_the_engine_cannot_do_is_refused_before_a_start(arm: dict[str, object], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        ENGINE.prepare(Arm.model_validate(arm | {"model": "smollm2-135m-instruct"}))


def test_a_log_of_a_good_start_states_no_failure() -> None:
    assert ENGINE.failure("INFO 10:00:00 [embedded] ready\n") is None
    assert ENGINE.failure("x\nERROR 10:00:00 [embedded] the engine died: y\nERROR 10:00:00 [embedded] z") == (
        "the engine died: y"
    )
