"""A mock as an engine of studies."""

from dataclasses import asdict
from typing import Any

import msgspec
import pytest

from whichbits.errors import BadInput
from whichbits.record.schema import Fact
from whichbits.serve.engine import Place, engine
from whichbits.serve.mock.facts import announce
from whichbits.serve.mock.settings import MockSettings
from whichbits.study.arm import Arm

MOCK = engine("mock")


def arm(**changes: Any) -> Arm:
    return Arm.model_validate({"weight_format": "w4a16", "model": "some/model", "engine": "mock"} | changes)


def test_its_command_carries_the_options_and_the_shared_settings() -> None:
    chosen = arm(options={"itl_ms": 4}, max_num_seqs=8, enable_prefix_caching=True)
    launch = MOCK.command(chosen, MOCK.prepare(chosen), Place("127.0.0.1", 8123))

    assert launch.argv[1:5] == ("-m", "whichbits.serve.mock", "127.0.0.1", "8123")
    told = MockSettings.of(msgspec.json.decode(launch.argv[5]))
    assert (told.itl_ms, told.slots, told.prefix_cache, told.model) == (4, 8, True, "some/model")
    assert MOCK.served_model(chosen) == "some/model"


def test_its_log_tells_what_it_was_told(capsys: pytest.CaptureFixture[str]) -> None:
    settings = MockSettings(itl_ms=7, slots=4)
    announce(settings)
    log = capsys.readouterr().err
    facts = MOCK.read_facts(f"something else\n{log}")

    assert facts["mock"].value is True
    assert facts["mock_itl_ms"].value == 7
    assert facts["max_num_seqs"].value == 4
    assert (facts["mock_itl_ms"].line or "").endswith(msgspec.json.encode(asdict(settings)).decode())
    assert MOCK.read_facts("no mock wrote this") == {}


def test_why_it_did_not_start_is_in_its_log() -> None:
    assert MOCK.failure("INFO 1 [mock] x\nERROR 12:00:00 [mock] address in use\n") == "address in use"
    assert MOCK.failure("INFO 1 [mock] x\n") is None


@pytest.mark.parametrize("changes", [{"options": {"speed": 1}}, {"dtype": "half"}, {"gpus": [0]}])
def test_what_it_cannot_apply_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(BadInput):
        MOCK.check(arm(**changes))


def test_only_a_mock_passes_for_one() -> None:
    assert MOCK.verify(arm(), {}, {"engine_version": Fact("whichbits-mock", "/version")}) == []
    assert MOCK.verify(arm(), {}, {"engine_version": Fact("0.11.0", "/version")}) != []
    assert MOCK.verify(arm(), {}, {}) != []
