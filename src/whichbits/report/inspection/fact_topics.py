"""The order in which facts of a log or scrape are shown: by what they are about, not by where they were read."""

import re
from collections.abc import Iterable
from typing import Any

from whichbits.language.phrase import phrase

_SETTINGS = (
    r"model|served_\w+|architecture|dtype|quantization\w*|max_model_len|tensor_\w+|pipeline_\w+|data_parallel\w*|ep"
    r"|enforce_eager|enable_\w+|max_num_\w+|load_format|log_stats|spec\w+|num_spec\w+|platform|device\w*|n_ctx\w*"
    r"|slots|chunked_\w+|mem_fraction\w+|max_concurrent_requests|flash_attention"
)
_TOPICS = (
    (phrase("fit"), r"mean_tokens|requests_that_fit|requests_at_once|limited_by"),
    (phrase("model and settings"), _SETTINGS),
    (phrase("kernels"), r"\w*backend|quant_kernel\w*|moe_\w+|flash_attention_version|cudagraph_\w+|kv_cache_layout"),
    (phrase("KV cache"), r"kv_\w+|max_concurrency\w*|\w*block\w*|\w*cache\w*|prefix_\w+"),
    (phrase("memory"), r"\w+_(?:gib|mib)(?:_\w+)?|gpu_memory_utilization"),
    (phrase("seconds"), r"\w+_seconds(?:_\w+)?|ready"),
    (phrase("processes"), r"\w*ranks?\w*|worker_pids|distinct_\w+|same_pid_names|engines_\w+|stages"),
)  # fmt: skip
_TOPICS_OF_METRICS = (
    (phrase("fit"), r"mean_tokens|requests_that_fit|requests_at_once|limited_by"),
    (phrase("scrapes"), r"scrapes|arm|replica|cells?|phase|\w+_scrape_seconds"),
    (phrase("requests"), r"\w*requests\w*|num_preemptions|sleeping"),
    (phrase("latency (ms)"), r"\w+_ms|(?:ttft|itl)_\w+"),
    (phrase("prefix cache"), r"\w*prefix\w*|cache_hit_rate_gauge|prompt_tokens_cached|prompt_tokens_computed"),
    (phrase("KV cache"), r"kv_\w+|max_concurrency\w*|\w*block\w*|gpu_memory_utilization"),
    (phrase("tokens"), r"\w*tokens\w*|\w+_tps_derived|(?:prompt|generation)_seconds"),
)  # fmt: skip
_OTHER = phrase("other")


def by_topic(facts: Iterable[tuple[str, Any]], *, of_metrics: bool = False) -> dict[str, list[tuple[str, Any]]]:
    """Return the facts of each topic in the facts' own order; topics without facts are left out."""
    shapes = _TOPICS_OF_METRICS if of_metrics else _TOPICS
    topics: dict[str, list[tuple[str, Any]]] = {topic: [] for topic in (*(topic for topic, _ in shapes), _OTHER)}
    for name, value in facts:
        topics[next((topic for topic, names in shapes if re.fullmatch(names, name)), _OTHER)].append((name, value))
    return {topic: found for topic, found in topics.items() if found}
