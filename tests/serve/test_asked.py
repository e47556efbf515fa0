"""What an arm says of a running server's settings is believed until the server says otherwise."""

import pytest

from whichbits.record.schema import Fact
from whichbits.serve.asked import Setting, refuted, untold


def said(name: str, value: Setting) -> dict[str, Fact]:
    return {name: Fact(value, "GET /server_info")}


@pytest.mark.parametrize(
    ("name", "asked", "told"),
    [
        ("max_num_seqs", 4, 256),
        ("enforce_eager", True, False),
        ("dtype", "float16", "bfloat16"),
        ("quantization", "fp8", None),
        ("gpu_memory_utilization", 0.9, 0.92),
        ("kv_cache_dtype", "fp8_e5m2", "fp8"),
    ],
)
def test_another_value_is_named_with_both(name: str, asked: Setting, told: Setting) -> None:
    (reason,) = refuted({name: asked}, said(name, told))

    assert reason == f"the arm says {name} {words(asked)}, the server {words(told)} (GET /server_info)"
    assert untold({name: asked}, said(name, told)) == []


@pytest.mark.parametrize(
    ("name", "asked", "told"),
    [
        ("dtype", "half", "float16"),
        ("dtype", "float16", "torch.float16"),
        ("quantization", "gptq", "auto_gptq_marlin"),
        ("kv_cache_dtype", "fp8", "fp8_e4m3"),
        ("gpu_memory_utilization", 0.9, 0.9),
        ("enforce_eager", True, True),
    ],
)
def test_two_spellings_of_one_value_agree(name: str, asked: Setting, told: Setting) -> None:
    assert refuted({name: asked}, said(name, told)) == []


@pytest.mark.parametrize("facts", [{}, said("dtype", None), said("dtype", "auto")])
def test_what_the_server_does_not_say_is_untold(facts: dict[str, Fact]) -> None:
    assert refuted({"dtype": "float16"}, facts) == []
    assert untold({"dtype": "float16"}, facts) == ["dtype"]


def test_auto_claims_nothing() -> None:
    assert refuted({"dtype": "auto"}, said("dtype", "float16")) == untold({"dtype": "auto"}, {}) == []


def words(value: Setting) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
