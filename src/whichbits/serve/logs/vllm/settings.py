"""vLLM's own printing of its settings: the arguments that the user gave and the configuration they became."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from whichbits.serve.logs.fields import integers, split_fields, value
from whichbits.serve.logs.lines import LogLine
from whichbits.serve.logs.reading import Reading

_ARGUMENTS = re.compile(r"(?:non-default args: ?\{|\bargs: ?Namespace\()(?P<fields>.*)", re.DOTALL)
_CONFIGURATION = re.compile(r"LLM engine \(v[^)]*\) with config: ?(?P<fields>.*)", re.DOTALL)
_CAPTURE_SIZES = re.compile(r"""["']cudagraph_capture_sizes["']: ?\[(?P<sizes>[\d, ]*)\]""")
_SPECULATIVE = re.compile(r"""["']?method["']?[=:] ?["'](?P<speculative_method>[\w-]+)["']""")
_SPECULATIVE_TOKENS = re.compile(r"""\bnum_spec(?:ulative)?_tokens["']?[=:] ?(?P<num_speculative_tokens>\d{1,6})""")

_FACTS = {
    "model": "model",
    "model_tag": "model",
    "served_model_name": "served_model_name",
    "dtype": "dtype",
    "max_seq_len": "max_model_len",
    "max_model_len": "max_model_len",
    "max_num_seqs": "max_num_seqs",
    "max_num_batched_tokens": "max_num_batched_tokens",
    "quantization": "quantization",
    "kv_cache_dtype": "kv_cache_dtype",
    "enforce_eager": "enforce_eager",
    "enable_prefix_caching": "enable_prefix_caching",
    "enable_chunked_prefill": "enable_chunked_prefill",
    "chunked_prefill_enabled": "enable_chunked_prefill",
    "gpu_memory_utilization": "gpu_memory_utilization",
    "tensor_parallel_size": "tensor_parallel_size",
    "pipeline_parallel_size": "pipeline_parallel_size",
    "data_parallel_size": "data_parallel_size",
    "load_format": "load_format",
    "block_size": "block_size",
    "device_config": "device",
    "attention_backend": "attention_backend",
}
_COUNTS = (
    *("max_model_len", "max_num_seqs", "max_num_batched_tokens", "block_size"),
    *("tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size"),
)
_UNDECIDED = (None, "auto", "")
_MOVE_WEIGHTS = (
    *("cpu_offload_gb", "offload_backend", "enable_lora", "language_model_only", "limit_mm_per_prompt"),
    *("mm_encoder_only", "mm_encoder_tp_mode", "enable_eplb", "hf_overrides"),
)
"""Arguments that put more than the model's weights, or less than all of them, into the figure of loaded memory."""
_OFF = (None, False, 0, 0.0, "", "{}", "None")


def read_arguments(lines: Sequence[LogLine]) -> Iterator[Reading]:
    """Yield what the user asked for. None and "auto" leave the choice to vLLM and are no facts."""
    for line, fields in _printed(_ARGUMENTS, lines):
        values = {name: value(text) for name, text in fields.items()}
        for name, fact in _FACTS.items():
            if name in values and values[name] not in _UNDECIDED and _fits(fact, values[name]):
                yield Reading(fact, _single(values[name]), line)
        yield from _only_arguments(values, line)
        if moving := [name for name in _MOVE_WEIGHTS if name in values and values[name] not in _OFF]:
            yield Reading("weights_moved_by", ", ".join(moving), line)
        yield from _speculation(fields.get("speculative_config", ""), line)


def read_configuration(lines: Sequence[LogLine]) -> Iterator[Reading]:
    """Yield what vLLM made of the arguments, with None where it says None."""
    for line, fields in _printed(_CONFIGURATION, lines):
        for name, fact in _FACTS.items():
            if name in fields and _fits(fact, meant := value(fields[name])):
                yield Reading(fact, _single(meant), line)
        yield from _speculation(fields.get("speculative_config", ""), line)
        if sizes := _CAPTURE_SIZES.search(line.unwrapped()):
            yield Reading("cudagraph_capture_sizes", integers(sizes["sizes"]), line)


def _printed(shape: re.Pattern[str], lines: Sequence[LogLine]) -> Iterator[tuple[LogLine, dict[str, str]]]:
    for line in lines:
        if "args:" not in line.text and "config:" not in line.text:
            continue
        if found := shape.search(line.unwrapped()):
            yield line, split_fields(found["fields"])


def _only_arguments(values: Mapping[str, Any], line: LogLine) -> Iterator[Reading]:
    readers: dict[str, tuple[str, Callable[[Any], Any]]] = {
        "quantization": ("quantization_arg", lambda given: given),
        "block_size": ("block_size_arg", lambda given: given),
        "disable_log_stats": ("log_stats", lambda given: not given),
        "enable_expert_parallel": ("ep", lambda given: given),
    }
    for name, (fact, meaning) in readers.items():
        if name in values and (values[name] is not None or name == "quantization"):
            yield Reading(fact, meaning(values[name]), line)


def _fits(fact: str, meant: Any) -> bool:
    """Return whether a count is one, or not decided: a torn or wrapped line may hold anything in its place."""
    return fact not in _COUNTS or meant is None or (type(meant) is int and meant > 0)


def _speculation(printed: str, line: LogLine) -> Iterator[Reading]:
    if method := _SPECULATIVE.search(printed):
        yield Reading("speculative_method", method["speculative_method"], line)
    if tokens := _SPECULATIVE_TOKENS.search(printed):
        yield Reading("num_speculative_tokens", int(tokens["num_speculative_tokens"]), line)


def _single(given: Any) -> Any:
    """Return the first of several names of one model."""
    return given[0] if isinstance(given, list) and given else given
