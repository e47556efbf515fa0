"""What /metrics shows, under vLLM's names; one more series says that nothing here is vLLM."""

from collections.abc import Iterator

from whichbits.serve.metrics.text import escaped
from whichbits.serve.mock.engine.desk import Desk
from whichbits.serve.mock.engine.prefixes import BLOCK_TOKENS

MARK = "vllm:mock_info"
_COUNTERS = ("prompt_tokens", "generation_tokens", "prefix_cache_queries", "prefix_cache_hits")


def exposition(desk: Desk) -> bytes:
    """Return the counters and gauges as Prometheus text; tokens of answers under way are counted as they are sent."""
    return "".join(f"{line}\n" for line in _lines(desk)).encode()


def _lines(desk: Desk) -> Iterator[str]:
    label = f'{{engine="0",model_name="{escaped(desk.settings.model)}"}}'
    yield f"# HELP {MARK} A mock: its times were ordered, not measured."
    yield f"# TYPE {MARK} gauge"
    yield f"{MARK} 1"
    under_way = {"generation_tokens": sum(stream.said_tokens for stream in desk.running.values())}
    for name in _COUNTERS:
        yield f"# TYPE vllm:{name} counter"
        yield f"vllm:{name}_total{label} {desk.counted[name] + under_way.get(name, 0)}"
    yield "# TYPE vllm:request_success counter"
    for reason in ("length", "abort"):
        counted = desk.counted[f"finished {reason}"]
        yield f'vllm:request_success_total{label[:-1]},finished_reason="{reason}"}} {counted}'
    for name, value in (("running", len(desk.running)), ("waiting", len(desk.waiting))):
        yield f"# TYPE vllm:num_requests_{name} gauge"
        yield f"vllm:num_requests_{name}{label} {value}"
    yield "# TYPE vllm:cache_config_info gauge"
    caching = desk.settings.prefix_cache
    yield f'vllm:cache_config_info{{block_size="{BLOCK_TOKENS}",enable_prefix_caching="{caching}",engine="0"}} 1'
