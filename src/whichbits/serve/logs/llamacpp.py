"""A log of llama.cpp's server (or its command-line tools) to an inspection: start-up facts and timings."""

import re
from collections.abc import Iterator, Sequence

from whichbits.record.inspection import Inspection, Problem
from whichbits.serve.logs.lines import LogLine
from whichbits.serve.logs.reading import FactSheet, Reading, read, search, wording

MARK = re.compile(
    r"\bllama_(?:model|context|new_context|kv_cache|print|perf|init)\w*\b|\bllm_load_\w+:|\bllama_kv_cache|\bggml_\w+:"
    r"|\bprint_timings?\b|\bprint_info: |\b(?:prompt eval|generation eval|eval) time *= *[\d.]+ ms /"
    r"|\b(?:slot|srv) +\w+: "
)
_MS = r" *= *(?P<{0}_ms>[\d.]+) ms"
_RATE = r"(?:\( *[\d.]+ ms per token, *(?P<{0}_tps>[\d.]+) tokens per second)?"
_TIMINGS = (
    wording(
        "prompt eval time",
        rf"prompt eval time{_MS.format('prompt')} / +(?P<prompt_tokens>\d+) tokens? *{_RATE.format('prompt')}",
    ),
    wording(
        "eval time",
        rf"(?<!prompt )eval time{_MS.format('decode')} / +(?P<decode_tokens>\d+) (?:tokens?|runs?) *"
        rf"{_RATE.format('decode')}",
    ),
    wording("total time", rf"total time{_MS.format('total')}"),
)
_SAID = (
    wording("build: ", r"\bbuild: (?P<build>\d+) \("),
    wording("build info", r"build info \|.*\bbuild=(?P<build>\d+)"),
    wording("loaded meta data with", r"loaded meta data with .* from (?P<model>\S.*?) \(version"),
    wording(" arch ", r"\barch +=\s*(?P<architecture>\S+)"),
    wording("general.architecture", r"general\.architecture str +=\s*(?P<architecture>\S+)"),
    wording("type ", r"(?:file type|model ftype) +=\s*(?P<quantization>\S+(?: \S+)*+)\s*$"),
    wording("file size", r"file size +=\s*(?P<checkpoint_size_gib>[\d.]+) GiB"),
    wording("model size", r"model size +=\s*(?P<checkpoint_size_gib>[\d.]+) GiB"),
    wording("compute capability", r"Device \d+: (?P<device_name>.+?), compute capability"),
    wording("n_ctx", r"(?:llama_context|new_context_with_model|construct\w*): n_ctx +=\s*(?P<n_ctx>\d+)"),
    wording("n_ctx_", r"\bn_ctx_(?:per_seq|seq|slot) *[=(]\s*(?P<n_ctx_per_slot>\d+)"),
    wording("new slot", r"new slot,? n_ctx(?:_slot)? =\s*(?P<n_ctx_per_slot>\d+)"),
    wording("n_slots", r"\bn_slots =\s*(?P<slots>\d+)"),
    wording("n_seq_max", r"\bn_seq_max +=\s*(?P<slots>\d+)"),
    wording("cells", r"\( *(?P<cells>\d+) cells(?:, +\d+ layers, +\d+/(?P<streams>\d+) seqs)?"),
    wording(", K (", r"\bK \((?P<kv_cache_dtype>\w+)\):"),
    wording("flash_attn", r"\bflash_attn +=\s*(?:1|enabled)\b", flash_attention=True),
    wording("flash_attn", r"\bflash_attn +=\s*(?:0|disabled)\b", flash_attention=False),
    wording("Flash Attention was auto", r"set to enabled", flash_attention=True),
    wording("Flash Attention was auto", r"set to disabled", flash_attention=False),
    wording("server is listening", ready=True),
)
_POOL = (
    wording("KV self size", r"KV self size +=\s*(?P<mib>\d+(?:\.\d+)?) MiB"),
    wording("cells", r"\bsize =\s*(?P<mib>\d+(?:\.\d+)?) MiB \( *\d+ cells"),
)
_BUFFER = wording(
    "buffer size",
    r"(?<![\w.+-])(?P<device>[\w.+-]++) (?P<use>KV|compute|model) buffer size =\s*(?P<mib>\d+(?:\.\d+)?) MiB",
)
_BUFFER_FACTS = {"KV": "kv_cache_memory_mib", "compute": "compute_buffer_mib", "model": "model_memory_mib"}
_OUT_OF_MEMORY = wording("out of memory", r"(?i)\bout of memory\b")


def claims(line: LogLine) -> bool:
    """Return whether only llama.cpp prints this."""
    return MARK.search(line.text) is not None


def inspect(lines: Sequence[LogLine]) -> Inspection:
    """Read the log; without a word about loading a model it is a log of requests."""
    sheet = FactSheet()
    sheet.put_first(read(_SAID, lines))
    sheet.put_first(_pool(lines))
    sheet.put_first(_buffers(lines))
    _put_tokens(sheet)
    build = sheet.facts.pop("build", None)
    started = bool(sheet.facts)
    _put_timings(sheet, lines)
    errors = [Problem("cuda_out_of_memory", line.shown) for line in lines if search(_OUT_OF_MEMORY, line)]
    return Inspection(
        "startup_log" if started else "request_log",
        "llama.cpp",
        None if build is None else f"b{build}",
        sheet.facts,
        tuple(errors[:1]),
        (),
        sheet.lines,
    )


def _put_tokens(sheet: FactSheet) -> None:
    """Put the tokens of the pool: its cells, times the streams of a pool that is shared out to the slots."""
    line = sheet.lines.pop("cells", None)
    sheet.lines.pop("streams", None)
    cells, streams = sheet.facts.pop("cells", None), sheet.facts.pop("streams", 1)
    if cells is not None:
        sheet.put("kv_cache_tokens", cells * streams, line)


def _put_timings(sheet: FactSheet, lines: Sequence[LogLine]) -> None:
    """Put the timings of the last request that has all its lines, else of the last one."""
    records: list[dict[str, Reading]] = []
    for reading in read(_TIMINGS, lines):
        if not records or reading.name in records[-1]:
            records.append({})
        records[-1][reading.name] = reading
    complete = [record for record in records if {"prompt_ms", "decode_ms", "total_ms"} <= record.keys()]
    if records:
        sheet.put_all((complete or records)[-1].values())


def _pool(lines: Sequence[LogLine]) -> Iterator[Reading]:
    """Yield the size of the whole pool; two pools (full and sliding window) add up."""
    for known in _POOL:
        sizes = {found["mib"]: line for line in lines if (found := search(known, line))}
        if sizes:
            yield Reading("kv_cache_memory_mib", round(sum(map(float, sizes)), 2), next(iter(sizes.values())))


def _buffers(lines: Sequence[LogLine]) -> Iterator[Reading]:
    """Yield KV and weights over all devices, and the compute buffers of the devices that compute."""
    found = [(match, line) for line in lines if (match := search(_BUFFER, line))]
    for use, fact in _BUFFER_FACTS.items():
        sizes = {match["device"]: (float(match["mib"]), line) for match, line in found if match["use"] == use}
        if use == "compute" and any(not _is_host(device) for device in sizes):
            sizes = {device: size for device, size in sizes.items() if not _is_host(device)}
        if sizes:
            yield Reading(fact, round(sum(mib for mib, _ in sizes.values()), 2), next(iter(sizes.values()))[1])


def _is_host(device: str) -> bool:
    return device.startswith("CPU") or device.endswith("_Host")
