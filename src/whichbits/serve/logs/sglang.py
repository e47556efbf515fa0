"""An SGLang log to an inspection. Sizes printed as GB mean GiB; every rank reports the same pool."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from whichbits.record.inspection import Inspection, Problem
from whichbits.serve.logs import hints
from whichbits.serve.logs.fields import integers, split_fields, value
from whichbits.serve.logs.lines import LogLine
from whichbits.serve.logs.reading import FactSheet, Reading, read, search, searched, wording

MARK = re.compile(
    r"server_args=ServerArgs\(|KV Cache is allocated\.|Load weight (?:begin|end)\.|max_total_num_tokens="
    r"|Capture (?:target )?(?:decode )?\w+ graph (?:begin|end)|(?:Decode|Prefill) batch[ .]"
    r"|Memory pool end\.|Scheduler hit an exception|sglang/srt/"
)
_GRAPH = r"Capture (?:target )?(?:decode )?\w+ graph end\."
_TOKENS = r"#tokens: (?P<kv_cache_tokens>\d+)"
_SAID = (
    wording("Load weight end", r"elapsed=(?P<model_load_seconds>[\d.]+) s"),
    wording("Load weight end", r"\btype=(?P<architecture>\w+),"),
    wording("Load weight end", r"\bdtype=(?:torch\.)?(?P<dtype>\w+),"),
    wording("Load weight end", r"\bquant=(?P<quantization>[\w-]+),"),
    wording("Load weight end", r"mem usage=(?P<model_memory_gib>[\d.]+) GB"),
    wording("KV Cache is allocated", rf"{_TOKENS}(?:,|$)"),
    wording("KV Cache is allocated", r"dtype: (?:torch\.)?(?P<kv_cache_dtype>\w+),"),
    wording("Using KV cache dtype", r"Using KV cache dtype: (?:torch\.)?(?P<kv_cache_dtype>\w+)"),
    wording("max_total_num_tokens=", r"max_total_num_tokens=(?P<kv_cache_tokens>\d+),"),
    wording("max_total_num_tokens=", r"max_prefill_tokens=(?P<max_num_batched_prefill_tokens>\d+),"),
    wording("max_total_num_tokens=", r"chunked_prefill_size=(?P<chunked_prefill_size>-?\d+),"),
    wording("max_total_num_tokens=", r"max_running_requests=(?P<max_num_seqs>\d+),"),
    wording("max_total_num_tokens=", r"max_running_requests=(?P<max_concurrent_requests>\d+),"),
    wording("max_total_num_tokens=", r"context_len=(?P<max_model_len>\d+)"),
    wording(" graph end", rf"{_GRAPH} (?:Time elapsed: |elapsed=)(?P<cuda_graph_seconds>[\d.]+) s"),
    wording(" graph end", rf"{_GRAPH}.*?mem usage=(?P<cuda_graph_gib>[\d.]+) GB"),
    wording(" graph end", rf"{_GRAPH}.*?avail mem=(?P<free_after_gib>[\d.]+\d) GB"),
    wording("ttention backend", r"Use (?P<attention_backend>\w+) (?:attention )?backend"),
    wording("device_name=", r"device_name=(?P<device_name>[^,\s]+?)(?:,|\.json)"),
    wording("The server is fired up", ready=True),
)
_MEMORY = wording(
    "KV Cache is allocated",
    r"K size: (?P<keys>\d+(?:\.\d+)?) GB, V size: (?P<values>\d+(?:\.\d+)?) GB|KV size: (?P<both>\d+(?:\.\d+)?) GB",
)
_CAPTURE_SIZES = wording("Capture cuda graph bs", r"Capture cuda graph bs \[(?P<sizes>[\d, ]+)\]")
_ARGUMENTS = re.compile(r"server_args=ServerArgs\((?P<fields>.*)", re.DOTALL)
_FACTS = {
    "model_path": "model",
    "served_model_name": "served_model_name",
    "dtype": "dtype",
    "quantization": "quantization",
    "kv_cache_dtype": "kv_cache_dtype",
    "context_length": "max_model_len",
    "max_running_requests": "max_num_seqs",
    "max_prefill_tokens": "max_num_batched_prefill_tokens",
    "chunked_prefill_size": "chunked_prefill_size",
    "max_total_tokens": "kv_cache_tokens_configured",
    "mem_fraction_static": "mem_fraction_static",
    "tp_size": "tensor_parallel_size",
    "pp_size": "pipeline_parallel_size",
    "dp_size": "data_parallel_size",
    "attention_backend": "attention_backend",
    "load_format": "load_format",
    "device": "device",
    "page_size": "block_size",
    "disable_cuda_graph": "enforce_eager",
    "speculative_algorithm": "speculative_method",
    "speculative_num_draft_tokens": "num_speculative_tokens",
}
_BATCH = (
    wording("gen throughput", r"gen throughput \(token/s\): (?P<peak_logged_generation_tps>[\d.]+)"),
    wording("input throughput", r"input throughput \(token/s\): (?P<peak_logged_prompt_tps>[\d.]+)"),
)
_ERRORS = (
    wording("out of memory", r"(?:CUDA|HIP) out of memory", code="cuda_out_of_memory"),
    wording("Not enough memory", r"Not enough memory\. Please try", code="no_memory_for_kv_cache"),
    wording("does not support", r"(?i)^\w*Error: .*attention.* does not support", code="attention_feature_unsupported"),
)
_PER_GPU = ("model_memory_gib", "kv_cache_memory_gib")


def claims(line: LogLine) -> bool:
    """Return whether only SGLang prints this."""
    return MARK.search(line.text) is not None


def inspect(lines: Sequence[LogLine]) -> Inspection:
    """Read the log; the first pool is the model's, a second one a drafter's."""
    sheet, ranks = FactSheet(), _ranks(lines)
    sheet.put_all(_arguments(lines))
    said = [*read(_SAID, lines), *_memory(lines)]
    sheet.put_all(_agreed(said, ranked=bool(ranks)))
    sheet.put_all(_peaks(lines))
    _put_ranks(sheet, said, ranks)
    if not ranks:
        sheet.put_bytes_per_token()
    for line in lines:
        if sizes := search(_CAPTURE_SIZES, line):
            sheet.put("cudagraph_capture_sizes", integers(sizes["sizes"]), line)
            break
    found = hints.hints(lines, sheet.facts)
    if found:
        sheet.put("hints", [code for code, _ in found])
    warned = tuple(Problem(code, line.shown) for code, line in hints.warnings(lines))
    return Inspection("startup_log", "sglang", None, sheet.facts, _problems(lines), warned, sheet.lines)


def _arguments(lines: Sequence[LogLine]) -> Iterator[Reading]:
    for line in lines:
        if "ServerArgs(" not in line.text or not (found := _ARGUMENTS.search(line.unwrapped())):
            continue
        values = {name: value(text) for name, text in split_fields(found["fields"]).items()}
        for name, fact in _FACTS.items():
            if values.get(name) not in (None, "auto"):
                yield Reading(fact, values[name], line)
        if values.get("quantization", "") is None:
            yield Reading("quantization_arg", None, line)
        if isinstance(values.get("disable_radix_cache"), bool):
            yield Reading("enable_prefix_caching", not values["disable_radix_cache"], line)
        if isinstance(values.get("chunked_prefill_size"), int):
            yield Reading("enable_chunked_prefill", values["chunked_prefill_size"] > 0, line)
        if isinstance(values.get("ep_size"), int) and values["ep_size"] > 1:
            yield Reading("ep", True, line)


def _memory(lines: Sequence[LogLine]) -> Iterator[Reading]:
    """Keys and values together; MLA keeps one of both."""
    for line in lines:
        if found := search(_MEMORY, line):
            parts = [float(part) for part in found.groups() if part is not None]
            yield Reading("kv_cache_memory_gib", round(sum(parts), 4), line)


def _agreed(said: Sequence[Reading], *, ranked: bool) -> Iterator[Reading]:
    """Yield the first figure of each fact, of memory the least of the ranks and for one GPU."""
    for name in dict.fromkeys(reading.name for reading in said):
        figures = _first_of_each_rank([reading for reading in said if reading.name == name])
        least = min(figures, key=lambda reading: reading.value) if name in _PER_GPU else figures[0]
        if name in _PER_GPU and ranked:
            yield Reading(f"{name}_per_gpu", least.value, least.line)
        if len({str(figure.value) for figure in figures}) == 1 or name not in _PER_GPU:
            yield least


def _first_of_each_rank(readings: Sequence[Reading]) -> list[Reading]:
    first: dict[str, Reading] = {}
    for reading in readings:
        first.setdefault(_rank(reading.line), reading)
    return list(first.values())


def _peaks(lines: Sequence[LogLine]) -> Iterator[Reading]:
    readings = sorted(read(_BATCH, lines), key=lambda reading: reading.value)
    return iter(readings)


def _put_ranks(sheet: FactSheet, said: Sequence[Reading], ranks: dict[str, dict[str, int]]) -> None:
    for dimension, fact in (("TP", "tp_ranks_seen"), ("DP", "dp_ranks_seen")):
        if seen := sorted({places[dimension] for places in ranks.values() if dimension in places}):
            sheet.put(fact, seen)
    if any("EP" in places for places in ranks.values()):
        sheet.put("ep", True)
    with_pool = {_rank(reading.line) for reading in said if reading.name == "kv_cache_memory_gib"} & set(ranks)
    if numbers := sorted({ranks[rank]["TP"] for rank in with_pool if "TP" in ranks[rank]}):
        sheet.put("ranks_with_kv", numbers)


def _ranks(lines: Sequence[LogLine]) -> dict[str, dict[str, int]]:
    labels = dict.fromkeys(_rank(line) for line in lines)
    return {label: _places(label) for label in labels if label}


def _places(label: str) -> dict[str, int]:
    return {name: int(number) for name, number in re.findall(r"([A-Z]+)(\d{1,6})", label)}


def _rank(line: LogLine) -> str:
    writer = line.innermost
    return writer.name if writer and writer.pid is None else ""


def _problems(lines: Sequence[LogLine]) -> tuple[Problem, ...]:
    found: dict[Any, Problem] = {}
    for line in lines:
        for known, _ in searched(_ERRORS, line):
            found.setdefault(known.says["code"], Problem(known.says["code"], line.shown))
    return tuple(found.values())
