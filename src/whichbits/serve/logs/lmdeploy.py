"""A log of LMDeploy to an inspection: TurboMind's or its PyTorch engine's settings and pool."""

import re
from collections.abc import Iterator, Sequence

from whichbits.record.inspection import Inspection, Problem
from whichbits.serve.logs.fields import split_fields, value
from whichbits.serve.logs.lines import LogLine
from whichbits.serve.logs.reading import FactSheet, Reading, read, search, wording

MARK = re.compile(r"\[TM\]\[(?:DEBUG|INFO|WARNING|ERROR|FATAL)\]|\blmdeploy - (?:DEBUG|INFO|WARNING|ERROR)\b")
_SETTINGS = re.compile(r"(?:Turbomind|Pytorch)EngineConfig\((?P<fields>.*)", re.DOTALL)
_FACTS = {
    "dtype": "dtype",
    "model_format": "quantization",
    "tp": "tensor_parallel_size",
    "dp": "data_parallel_size",
    "session_len": "max_model_len",
    "max_batch_size": "max_num_seqs",
    "cache_block_seq_len": "block_size",
    "block_size": "block_size",
    "enable_prefix_caching": "enable_prefix_caching",
    "max_prefill_token_num": "max_num_batched_prefill_tokens",
    "eager_mode": "enforce_eager",
}
_SAID = (
    wording("max_block_count", r"max_block_count\s*=\s*(?P<gpu_blocks>\d+)"),
    wording("num_gpu_blocks", r"\bnum_gpu_blocks\s*=\s*(?P<gpu_blocks>\d+)"),
    wording("Application startup complete", ready=True),
)
_OUT_OF_MEMORY = wording("ut of memory", r"(?i)\bCUDA (?:runtime )?(?:error: )?out of memory|\bOutOfMemoryError\b")


def claims(line: LogLine) -> bool:
    """Return whether only LMDeploy prints this."""
    return MARK.search(line.shown) is not None


def inspect(lines: Sequence[LogLine]) -> Inspection:
    """Read the log; the pool is blocks x block size, which the log does not multiply."""
    sheet = FactSheet()
    sheet.put_all(_settings(lines))
    sheet.put_all(reading for reading in read(_SAID, lines) if reading.value)
    blocks, size = sheet.facts.get("gpu_blocks"), sheet.facts.get("block_size")
    if blocks and size:
        sheet.put("kv_cache_tokens_derived", blocks * size)
    errors = [Problem("cuda_out_of_memory", line.shown) for line in lines if search(_OUT_OF_MEMORY, line)]
    return Inspection("startup_log", "lmdeploy", None, sheet.facts, tuple(errors[:1]), (), sheet.lines)


def _settings(lines: Sequence[LogLine]) -> Iterator[Reading]:
    for line in lines:
        if "EngineConfig(" in line.text and (found := _SETTINGS.search(line.unwrapped())):
            printed = split_fields(found["fields"])
            for name, fact in _FACTS.items():
                if name in printed and (meant := value(printed[name])) not in (None, "auto"):
                    yield Reading(fact, meant, line)
