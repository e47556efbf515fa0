"""A log of TensorRT-LLM to an inspection. It allocates a trial pool first: of each fact the last line counts."""

import re
from collections.abc import Sequence

from whichbits.record.inspection import Inspection, Problem
from whichbits.serve.logs.lines import LogLine
from whichbits.serve.logs.reading import BYTES_PER_GIB, FactSheet, read, search, wording

MARK = re.compile(r"\[TensorRT-LLM\]|\[TRT-LLM\]")
_SAID = (
    wording("TensorRT-LLM version", r"TensorRT-LLM version:? (?P<engine_version>\d[\w.+-]*)"),
    wording("in paged KV cache", r"Using (?P<kv_cache_tokens>\d+) tokens in paged KV cache"),
    wording("for max tokens in paged KV cache", r"in paged KV cache \((?P<kv_cache_tokens>\d+)\)"),
    wording("for max tokens in paged KV cache", r"Allocated (?P<kv_cache_memory_gib>[\d.]+) GiB for max tokens"),
    wording("bytes for k/v cache", r"Allocate (?P<kv_cache_memory_bytes>\d+) bytes for k/v cache"),
    wording(
        "when calculating max tokens",
        r"total: (?P<total_memory_gib>[\d.]+) GiB, available: (?P<free_memory_gib>[\d.]+) GiB",
    ),
    wording(
        "max_num_requests=",
        r"max_seq_len=(?P<max_model_len>\d+), max_num_requests=(?P<max_num_seqs>\d+), "
        r"max_num_tokens=(?P<max_num_batched_tokens>\d+)",
    ),
    wording("Max tokens in paged KV cache", r"Max tokens in paged KV cache: (?P<kv_cache_tokens>\d+)\."),
    wording("okens per block", r"[Tt]okens per block(?:=|: )(?P<block_size>\d+)[.,]"),
    wording("primary blocks=", r"primary blocks=(?P<gpu_blocks>\d+),"),
    wording("secondary blocks=", r"secondary blocks=(?P<cpu_blocks>\d+)"),
    wording("KV cache primary pool", r"blocks in KV cache primary pool: (?P<gpu_blocks>\d+)"),
    wording("econdary pool", r"secondary pool: (?P<cpu_blocks>\d+)"),
    wording("TRTGptModel", r"TRTGptModel maxNumSequences: (?P<max_num_seqs>\d+)"),
    wording("TRTGptModel", r"TRTGptModel (?:maxSequenceLen|maxTokensPerSequence|max_seq_len): (?P<max_model_len>\d+)"),
    wording("TRTGptModel", r"TRTGptModel (?:maxNumTokens|max_num_tokens): (?P<max_num_batched_tokens>\d+)"),
    wording("Application startup complete", ready=True),
)
_OUT_OF_MEMORY = wording("ut of memory", r"(?:CUDA (?:runtime )?(?:error.*?)?|Error.*?)out of memory|OutOfMemory")


def claims(line: LogLine) -> bool:
    """Return whether only TensorRT-LLM prints this."""
    return MARK.search(line.text) is not None


def inspect(lines: Sequence[LogLine]) -> Inspection:
    """Read the log; ranks print the same pool without a mark, so figures are never added."""
    sheet = FactSheet()
    sheet.put_all(read(_SAID, lines))
    version = sheet.facts.pop("engine_version", None)
    if held := sheet.facts.pop("kv_cache_memory_bytes", None):
        sheet.put("kv_cache_memory_gib", held / BYTES_PER_GIB, sheet.lines.pop("kv_cache_memory_bytes"))
    blocks, size = sheet.facts.get("gpu_blocks"), sheet.facts.get("block_size")
    if blocks and size:
        sheet.put("kv_cache_tokens_derived", blocks * size)
    sheet.put_bytes_per_token()
    errors = [Problem("cuda_out_of_memory", line.shown) for line in lines if search(_OUT_OF_MEMORY, line)]
    return Inspection(
        "startup_log",
        "tensorrt-llm",
        None if version is None else str(version),
        sheet.facts,
        tuple(errors[:1]),
        (),
        sheet.lines,
    )
