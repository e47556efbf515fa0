"""A log of Text Generation Inference to an inspection."""

import re
from collections.abc import Iterator, Sequence

from whichbits.record.inspection import Inspection, Problem
from whichbits.serve.logs.fields import integers
from whichbits.serve.logs.lines import LogLine
from whichbits.serve.logs.reading import FactSheet, Reading, plain, read, search, searched, wording

MARK = re.compile(r"\btext_generation_(?:launcher|router)\b|\btext-generation-launcher\b")
_SAID = (
    wording("Using prefix caching = True", enable_prefix_caching=True),
    wording("Using prefix caching = False", enable_prefix_caching=False),
    wording("Using Attention =", r"Using Attention = (?P<attention_backend>[\w-]+)"),
    wording("Using prefill chunking = True", enable_chunked_prefill=True),
    wording("Using prefill chunking = False", enable_chunked_prefill=False),
    wording("download process for", r"Starting check and download process for (?P<model>\S+)"),
    wording("atch_prefill_tokens` to", r"`max_batch_prefill_tokens` to (?P<max_num_batched_prefill_tokens>\d+)"),
    wording("max_total_tokens` to", r"`max_total_tokens` to (?P<max_model_len>\d+)"),
    wording(
        "max batch total tokens",
        r"(?:Setting max batch total tokens to|Inferred max batch total tokens:) (?P<kv_cache_tokens>\d+)",
    ),
    wording("Shard ready in", r"Shard ready in (?P<shard_ready_seconds>[\d.]+)s"),
    wording("Connected", r"(?:^|: )Connected$", ready=True),
)
_CAPTURE_SIZES = wording("uda", r"(?:default cuda graphs|Cuda Graphs are enabled for sizes) \[(?P<sizes>[\d, ]+)\]")
_ARGUMENT = re.compile(r"""\b(?P<name>[a-z_]+): (?:Some\(\s*)?(?:"(?P<text>[^"]*)"|(?P<word>[\w.-]+))(?=\s*[,)}])""")
_ARGUMENTS = {
    "model_id": "model",
    "quantize": "quantization",
    "num_shard": "tensor_parallel_size",
    "dtype": "dtype",
    "kv_cache_dtype": "kv_cache_dtype",
    "max_concurrent_requests": "max_concurrent_requests",
    "max_total_tokens": "max_model_len",
    "max_batch_prefill_tokens": "max_num_batched_prefill_tokens",
    "max_batch_total_tokens": "kv_cache_tokens_configured",
    "max_batch_size": "max_num_seqs",
    "cuda_memory_fraction": "gpu_memory_utilization",
}
_ERRORS = (
    wording("out of memory", r"(?:CUDA|HIP) out of memory", code="cuda_out_of_memory"),
    wording("Not enough memory", "Not enough memory to handle", code="no_memory_for_kv_cache"),
)


def claims(line: LogLine) -> bool:
    """Return whether only TGI prints this."""
    return MARK.search(line.shown) is not None  # a JSON line names the program beside its message


def inspect(lines: Sequence[LogLine]) -> Inspection:
    """Read the log; of several shards the slowest counts, since the server waits for it."""
    sheet = FactSheet()
    sheet.put_all(_arguments(lines))
    said = [reading for reading in read(_SAID, lines) if reading.name != "shard_ready_seconds"]
    shards = [reading for reading in read(_SAID, lines) if reading.name == "shard_ready_seconds"]
    sheet.put_all(said)
    sheet.put_all(sorted(shards, key=lambda reading: reading.value))
    for line in lines:
        if found := search(_CAPTURE_SIZES, line):
            sheet.put("cudagraph_capture_sizes", integers(found["sizes"]), line)
    return Inspection("startup_log", "tgi", None, sheet.facts, _problems(lines), (), sheet.lines)


def _arguments(lines: Sequence[LogLine]) -> Iterator[Reading]:
    """Read ``Args { … }``, on one line or one argument a line."""
    for line in lines:
        if "Args {" not in line.text:
            continue
        for found in _ARGUMENT.finditer(line.unwrapped()):
            printed = found["text"] if found["text"] is not None else found["word"]
            if found["name"] in _ARGUMENTS and printed not in ("None", "Auto"):
                yield Reading(_ARGUMENTS[found["name"]], _meaning(found["name"], printed), line)


def _meaning(name: str, printed: str) -> int | float | str:
    return printed.lower() if name in ("quantize", "dtype") else plain(printed)


def _problems(lines: Sequence[LogLine]) -> tuple[Problem, ...]:
    found: dict[str, Problem] = {}
    for line in lines:
        for known, _ in searched(_ERRORS, line):
            found.setdefault(known.says["code"], Problem(known.says["code"], line.shown))
    return tuple(found.values())
