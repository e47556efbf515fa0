"""What tools mean by a metric: definitions by code, in families whose numbers may be held against each other.

Read from the tools' source; docs/compare.md is the table for people. Within a family, definitions differ by less than
what is compared, or under conditions that ``caveat`` names; across families a ratio would compare two quantities.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Definition:
    """One meaning of one metric."""

    family: str
    text: str
    caveat: str | None = None
    """What to bear in mind when it is held against another definition of its family."""


_CLIENT_TOKENS = "tokens are counted by the client's own tokeniser"

DEFINITIONS: dict[str, Definition] = {
    # TTFT
    "ttft_scheduled": Definition("ttft_scheduled", "first content chunk - scheduled send"),
    "ttft_send": Definition("ttft_send", "first content chunk - send"),
    "ttft_send_zero_if_unmeasured": Definition(
        "ttft_send", "first chunk - send", "a TTFT that was not measured may count as 0"
    ),
    "ttft_send_no_reasoning": Definition(
        "ttft_send", "first content chunk - send", "chunks of reasoning are passed over"
    ),
    "ttft_send_tokens_by_client": Definition("ttft_send", "first token - send", _CLIENT_TOKENS),
    "ttft_send_role": Definition(
        "ttft_role", "first chunk of any kind - send: a chunk that only names the role counts"
    ),
    "ttft_chat_unknown": Definition(
        "ttft_chat_unknown",
        "first chunk - send; whether a role-only chunk counts depends on the tool's version, which the file hides",
        "comparable only if one version of the tool wrote both",
    ),
    # TPOT
    "tpot": Definition("tpot", "(last content chunk - first content chunk) / (tokens - 1), one value a request"),
    "tpot_tokens_by_client": Definition(
        "tpot", "(last chunk - first chunk) / (tokens - 1), one value a request", _CLIENT_TOKENS
    ),
    "tpot_token_weighted": Definition(
        "tpot_token_weighted", "(last token - first token) / (tokens - 1), each request weighted by its tokens"
    ),
    "tpot_from_role": Definition("tpot_from_role", "(last content chunk - role chunk) / (tokens - 1)"),
    "tpot_role_to_usage": Definition("tpot_role_to_usage", "(usage chunk - role chunk) / (tokens - 1)"),
    "tpot_chat_unknown": Definition(
        "tpot_chat_unknown",
        "(last chunk - first chunk) / (tokens - 1); which chunks count depends on the tool's version",
        "comparable only if one version of the tool wrote both",
    ),
    # ITL
    "itl_chunks": Definition("itl_chunks", "gaps between content chunks, pooled over requests"),
    "itl_tokens": Definition("itl_tokens", "gaps between tokens, 0 within one chunk, pooled over requests"),
    "itl_any_chunk": Definition("itl_any_chunk", "gaps between chunks of any kind, the role-only one included"),
    "itl_chat_unknown": Definition(
        "itl_chat_unknown",
        "gaps between chunks; which chunks count depends on the tool's version",
        "comparable only if one version of the tool wrote both",
    ),
    # E2E
    "e2e_scheduled": Definition("e2e_scheduled", "last content chunk - scheduled send"),
    "e2e_free_stream": Definition(
        "e2e_send", "last content chunk - moment the stream became free", "starts when the stream was free to send"
    ),
    "e2e_send": Definition("e2e_send", "last content chunk - send"),
    "e2e_send_to_end": Definition("e2e_send", "end of the answer - send", "ends with the answer, not its last token"),
    "e2e_usage_chunk": Definition("e2e_usage_chunk", "usage chunk - send"),
    "e2e_chat_unknown": Definition(
        "e2e_chat_unknown",
        "last chunk - send; whether the usage chunk counts depends on the tool's version",
        "comparable only if one version of the tool wrote both",
    ),
    # Work per second
    "rate_whole": Definition("rate_whole", "total / time from first send to last finish, ramp and stragglers included"),
    "rate_whole_tokens_by_client": Definition("rate_whole", "total / time of the whole run", _CLIENT_TOKENS),
    "rate_window": Definition("rate_window", "mean rate within the tool's own measuring window"),
    "goodput": Definition("goodput", "requests that held every bound of the SLO / time of the whole cell"),
    # An llm-d Benchmark Report of a tool that is not known
    "unstated": Definition(
        "unstated",
        "as the tool that wrote it defines it; the file does not say which tool",
        "comparable only if one tool wrote both",
    ),
}


OURS: dict[str, str] = {
    "ttft_ms": "ttft_scheduled",
    "ttft_from_send_ms": "ttft_send",
    "tpot_ms": "tpot",
    "itl_ms": "itl_chunks",
    "e2e_ms": "e2e_scheduled",
    "output_tokens_per_s": "rate_whole",
    "total_tokens_per_s": "rate_whole",
    "requests_per_s": "rate_whole",
    "goodput_requests_per_s": "goodput",
}
"""What whichbits itself measures, by holder of an address in summary.json."""
