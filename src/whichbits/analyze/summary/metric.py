"""The names of what arms are compared by, and the units of the loads at which they are."""

from typing import Literal

Metric = Literal[
    "tpot_ms.p50",
    "tpot_ms.mean",
    "tpot_ms.p90",
    "tpot_ms.p99",
    "itl_ms.p50",
    "itl_ms.p99",
    "ttft_ms.p50",
    "ttft_ms.p90",
    "ttft_ms.p99",
    "e2e_ms.p50",
    "e2e_ms.p99",
    "output_tokens_per_s",
    "goodput_requests_per_s",
    "cost_per_million_tokens",
]
LoadUnit = Literal["concurrency", "request_rate", "share_of_capacity"]
