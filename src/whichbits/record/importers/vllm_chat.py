"""What ``vllm bench serve`` counted in its chat backends, which changed twice: read the version off the file's keys."""

from typing import Any, Literal

from whichbits.record.importers.result_file import words

Era = Literal["to_0.25", "to_0.31", "0.32", "from_0.33", "unknown"]

COMPLETIONS: dict[str, str] = {
    "ttft_ms": "ttft_send",
    "ttft_from_send_ms": "ttft_send",
    "tpot_ms": "tpot",
    "itl_ms": "itl_chunks",
    "e2e_ms": "e2e_send",
    "output_tokens_per_s": "rate_whole",
    "total_tokens_per_s": "rate_whole",
    "requests_per_s": "rate_whole",
}
"""The completions backends have always counted alike, and like whichbits from the send."""


def _chat(ttft: str, tpot: str, itl: str, e2e: str) -> dict[str, str]:
    return COMPLETIONS | {
        "ttft_ms": ttft,
        "ttft_from_send_ms": ttft,
        "tpot_ms": tpot,
        "itl_ms": itl,
        "e2e_ms": e2e,
    }


CHAT: dict[Era, dict[str, str]] = {
    # Up to 0.25.1 the usage chunk moves the end, up to 0.32 a role-only chunk is the first one.
    "to_0.25": _chat("ttft_send_role", "tpot_role_to_usage", "itl_any_chunk", "e2e_usage_chunk"),
    # Some release before 0.32, maybe before 0.26: when the usage chunk stopped counting is not known better.
    "to_0.31": _chat("ttft_send_role", "tpot_chat_unknown", "itl_any_chunk", "e2e_chat_unknown"),
    "0.32": _chat("ttft_send_role", "tpot_from_role", "itl_any_chunk", "e2e_send"),
    "from_0.33": COMPLETIONS,
    "unknown": _chat("ttft_chat_unknown", "tpot_chat_unknown", "itl_chat_unknown", "e2e_chat_unknown"),
}

_VERSION_KEYS = ("vllm_version", "tool_version", "version")
"""Where people put it with ``--metadata``; the tool itself does not write its version."""


def definitions(record: dict[str, Any], backend: str | None) -> dict[str, str]:
    """Return what the numbers of one result mean."""
    return CHAT[era(record)] if backend is not None and backend.endswith("chat") else COMPLETIONS


def era(record: dict[str, Any]) -> Era:
    """Return the releases that may have written this result, by what it says or by the keys it has."""
    stated = next((text for key in _VERSION_KEYS if (text := words(record.get(key)))), None)
    release = _release(stated)
    if release is not None:
        return _era_of(release)
    if any(key in record for key in ("server_ttfts", "server_queue_times")):
        return "from_0.33"
    if "ttfts" in record:
        # Detailed files hold latencies since 0.32, and the server's own times since 0.33.
        return "0.32" if "latencies" in record else "to_0.31"
    if "endpoint_type" in record and "backend" not in record:
        return "to_0.25"
    return "unknown"


def _era_of(release: tuple[int, int]) -> Era:
    if release <= (0, 25):
        return "to_0.25"
    if release <= (0, 31):
        return "to_0.31"
    return "0.32" if release == (0, 32) else "from_0.33"


def _release(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    parts = text.lower().removeprefix("v").split(".")
    if len(parts) < 2 or not (parts[0].isdecimal() and parts[1].isdecimal()):
        return None
    return int(parts[0]), int(parts[1])
