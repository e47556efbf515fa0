"""What a chat result of ``vllm bench serve`` means depends on the release, as far as the file tells it."""

from typing import Any

import pytest

from tests.record.importers.make_bench import bench_record
from tests.record.importers.make_results import detailed
from whichbits.record.definitions import DEFINITIONS
from whichbits.record.importers.vllm_chat import CHAT, COMPLETIONS, Era, definitions, era


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"vllm_version": "0.25.1"}, "to_0.25"),
        ({"vllm_version": "v0.26.0"}, "to_0.31"),
        ({"tool_version": "0.32.0"}, "0.32"),
        ({"version": "0.33.0"}, "from_0.33"),
        ({"version": "1.0.0"}, "from_0.33"),
        ({"version": "nightly"}, "unknown"),
        ({"endpoint_type": "openai-chat", "backend": None}, "to_0.25"),
        ({}, "unknown"),
    ],
)
def test_the_release_is_stated_or_shows_in_the_keys(changed: dict[str, Any], expected: Era) -> None:
    assert era(bench_record(**changed)) == expected


def test_a_detailed_file_shows_its_release() -> None:
    assert era(detailed()) == "to_0.31"
    assert era(detailed(latencies=[1.0, 1.0, 0.0])) == "0.32"
    assert era(detailed(latencies=[1.0, 1.0, 0.0], server_ttfts=[0.1, 0.1, 0.0])) == "from_0.33"


def test_only_chat_has_changed() -> None:
    old = bench_record(vllm_version="0.25.1")

    assert definitions(old, "openai") == COMPLETIONS
    assert definitions(old, None) == COMPLETIONS
    assert definitions(old, "openai-chat")["ttft_ms"] == "ttft_send_role"
    assert definitions(old, "openai-chat")["tpot_ms"] == "tpot_role_to_usage"
    assert definitions(bench_record(vllm_version="0.33.0"), "openai-chat") == COMPLETIONS


def test_every_meaning_is_in_the_catalogue() -> None:
    assert {code for meanings in CHAT.values() for code in meanings.values()} <= DEFINITIONS.keys()
