"""A vLLM log to an inspection."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from whichbits.record.inspection import Inspection, Problem
from whichbits.serve.logs import hints
from whichbits.serve.logs.lines import LogLine
from whichbits.serve.logs.reading import BYTES_PER_GIB, FactSheet, Reading, read, search
from whichbits.serve.logs.vllm import wordings
from whichbits.serve.logs.vllm.attention import attention_backend
from whichbits.serve.logs.vllm.console import apart, kv_cache_is_full, put_console
from whichbits.serve.logs.vllm.crew import Crew, read_crew
from whichbits.serve.logs.vllm.failures import problems
from whichbits.serve.logs.vllm.pools import put_pool_facts, scheduler_is_the_limit
from whichbits.serve.logs.vllm.settings import read_arguments, read_configuration
from whichbits.serve.logs.vllm.stages import by_stage
from whichbits.serve.logs.vllm.workers import put_worker_facts

_OWN_WORDS = re.compile(
    r"LLM engine \(v|vLLM API server version|non-default args: \{|[▀▄█] +version {1,2}v?\d"
    r"|KV cache size: [\d,]+ tokens"
    r"|Maximum concurrency for [\d,]+ tokens per request|# \w+ blocks: \d|Available KV cache memory:"
    r"|Loading model weights took|Model loading took|less than desired GPU memory utilization"
    r"|To serve at least one request with the model"
)
_OWN_PROCESSES = re.compile(
    r"VllmWorker|EngineCore\b|EngineCore_|StageEngineCoreProc|APIServer\b|Worker(?:_|$)|Ray(?:WorkerWrapper|WorkerProc)"
)
_GRAPH_COUNT = re.compile(r"\b([A-Z_]+)=(\d{1,6})\b")
_DIGITS = re.compile(r"\d+")


def claims(line: LogLine) -> bool:
    """Return whether only vLLM prints this; SGLang uses parts of it, which log in its shape."""
    if any(_OWN_PROCESSES.match(writer.name) for writer in line.writers):
        return True
    return _OWN_WORDS.search(line.text) is not None


def may_have_written(line: LogLine) -> bool:
    """Return whether the line has vLLM's head; enough where no other engine claims the log."""
    return line.headed and line.level is not None


def inspect(lines: Sequence[LogLine]) -> Inspection:
    """Read the last start that the log holds. Several models of one deployment stand apart in ``stages``."""
    console, lines = apart(_last_start(lines))
    stages = by_stage(lines)
    several = len(stages) > 2
    sheet, warned = _facts(stages[None] if several else lines)
    put_console(sheet, console)
    if several:
        own = {stage: _facts(said)[0].facts for stage, said in stages.items() if stage is not None}
        sheet.put("stages", {stage: own[stage] for stage in sorted(own, key=int)})
    found = hints.hints(lines, sheet.facts)
    if found:
        sheet.put("hints", [code for code, _ in found], next((line for _, line in found if line), None))
    warned += [Problem(code, line.shown) for code, line in hints.warnings(lines)]
    if full := kv_cache_is_full(console):
        warned.append(Problem("kv_cache_full_requests_wait", full.shown))
    return Inspection("startup_log", "vllm", _version(lines), sheet.facts, problems(lines), tuple(warned), sheet.lines)


def _facts(lines: Sequence[LogLine]) -> tuple[FactSheet, list[Problem]]:
    """Return the facts of one model, and what does not fit together among them."""
    crew, sheet = read_crew(lines), FactSheet()
    _put_settings(sheet, lines)
    _put_crew(sheet, crew)
    put_worker_facts(sheet, read(wordings.WORKER, lines), crew)
    _put_memory_summary(sheet, lines, crew)
    inconsistent = put_pool_facts(sheet, read(wordings.POOL, lines), crew)
    sheet.put_first(read(wordings.ENGINE, lines))
    _put_kernels(sheet, lines)
    if not crew.sizes_seen():
        sheet.put_bytes_per_token()
    warned = [Problem(code) for code in inconsistent]
    return sheet, warned + ([Problem("max_num_seqs_below_max_concurrency")] if scheduler_is_the_limit(sheet) else [])


def _last_start(lines: Sequence[LogLine]) -> Sequence[LogLine]:
    """Return the lines from the last banner on: a log that was appended to holds several starts."""
    _, served, banner = wordings.VERSION
    starts = [place for place, line in enumerate(lines) if search(served, line) or search(banner, line)]
    return lines[starts[-1] :] if len(starts) > 1 else lines


def _version(lines: Sequence[LogLine]) -> str | None:
    for known in wordings.VERSION:
        for line in lines:
            if found := search(known, line):
                return found["version"]
    return None


def _put_settings(sheet: FactSheet, lines: Sequence[LogLine]) -> None:
    """Arguments, then what vLLM says it does, then the configuration: the later is the surer."""
    sheet.put_all(read_arguments(lines))
    said = list(read(wordings.SAID, lines))
    sheet.put_all(_first_of_each(said))
    fitted = [reading for reading in said if "Auto-fit" in reading.line.text]
    sheet.put_all(read_configuration(lines))
    sheet.put_all(fitted)
    if backend := attention_backend(lines):
        sheet.put_all([backend])


def _first_of_each(readings: Iterable[Reading]) -> Iterable[Reading]:
    first: dict[str, Reading] = {}
    for reading in readings:
        first.setdefault(reading.name, reading)
    return first.values()


def _put_crew(sheet: FactSheet, crew: Crew) -> None:
    """Put who was seen; what is seen is not what is configured."""
    for name, size in crew.sizes_seen().items():
        sheet.put(name, size)
    labels = [worker.label for worker in crew.workers.values() if worker.label is not None]
    pids = [key for key in crew.workers if isinstance(key, int)]
    several = next((worker for worker in crew.workers.values() if len(_own_names(worker.names)) > 1), None)
    seen: dict[str, Any] = {
        "ranks_seen": sorted(set(labels), key=_by_number),
        "tp_ranks_seen": crew.places("TP"),
        "dp_ranks_seen": crew.places("DP"),
        "engines_seen": list(crew.engines) if len(crew.engines) > 1 else [],
        "worker_pids": pids,
        "distinct_worker_pids": len(pids),
        "same_pid_names": _own_names(several.names) if several else [],
        "ep": True if crew.places("EP") else None,
    }
    for name, value in seen.items():
        if value:
            sheet.put(name, value)


def _by_number(label: str | int) -> list[int]:
    """Order TP10 behind TP2."""
    return [int(digits) for digits in _DIGITS.findall(str(label))]


def _own_names(names: Sequence[str]) -> list[str]:
    return [name for name in names if not name.startswith("Ray")]


def _put_memory_summary(sheet: FactSheet, lines: Sequence[LogLine], crew: Crew) -> None:
    """Put what the one line with all memory adds to the lines before it."""
    summary = FactSheet()
    put_worker_facts(summary, (_in_gib(reading) for reading in read(wordings.MEMORY_SUMMARY, lines)), crew)
    for name, value in summary.facts.items():
        if name not in sheet.facts:
            sheet.put(name, value, summary.lines.get(name))
    said = [
        crew.label_of(crew.worker_of(reading.line))
        for reading in read(wordings.WORKER, lines)
        if reading.name == "kv_cache_memory_gib"
    ]
    if ranks := [rank for rank in dict.fromkeys(said) if rank is not None]:
        sheet.put("ranks_with_kv", sorted(ranks, key=_by_number))


def _in_gib(reading: Reading) -> Reading:
    if reading.name != "kv_cache_memory_bytes":
        return reading
    return Reading("kv_cache_memory_gib", reading.value / BYTES_PER_GIB, reading.line)


def _put_kernels(sheet: FactSheet, lines: Sequence[LogLine]) -> None:
    chosen: dict[str, tuple[str, LogLine]] = {}
    for known in wordings.KERNEL:
        for line in lines:
            if found := search(known, line):
                chosen.setdefault(found["layer"], (found["kernel"], line))
    if chosen:
        first = next(line for _, line in chosen.values())
        sheet.put("quant_kernels", list(dict.fromkeys(kernel for kernel, _ in chosen.values())), first)
        sheet.put("quant_kernel_for", {layer: kernel for layer, (kernel, _) in chosen.items()}, first)
    for line in lines:
        if found := search(wordings.GRAPH_COUNTS, line):
            counts = _GRAPH_COUNT.findall(found["counts"])
            sheet.put("cudagraph_counts", {mode: int(count) for mode, count in counts}, line)
