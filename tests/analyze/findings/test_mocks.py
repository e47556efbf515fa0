from typing import Any

from whichbits.analyze.findings.mocks import is_mock
from whichbits.record.schema import ArmRecord, Fact, ReplicaRecord


def record(engine: str, **facts: Any) -> ArmRecord:
    told = {name: Fact(value, "/v1/models") for name, value in facts.items()}
    return ArmRecord("a", "w4a16", engine, {}, (ReplicaRecord("0", (), {}, "http://x:1", None, None, told),))


def test_a_mock_is_known_by_its_engine_or_by_its_own_word() -> None:
    assert is_mock(record("mock"))
    assert is_mock(record("openai", owned_by="whichbits-mock"))
    assert is_mock(record("vllm", engine_version="whichbits-mock"))
    assert not is_mock(record("vllm", engine_version="0.11.0", owned_by="vllm"))
    assert not is_mock(record("openai"))
