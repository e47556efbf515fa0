"""Why vLLM did not start: causes told apart from the errors that only follow from them."""

import re
from collections.abc import Iterator, Sequence

from whichbits.record.inspection import Problem
from whichbits.serve.logs.lines import LogLine, read_lines
from whichbits.serve.logs.reading import searched, wording

_CAUSES = (
    wording(
        "Free memory on device",
        r"Free memory on device.*? on startup is less than desired GPU memory utilization",
        code="free_memory_below_requested",
    ),
    wording("max seq len", "To serve at least one request with the model", code="kv_cache_too_small_for_max_model_len"),
    wording(
        "max seq len",
        r"max seq len \(\d+\) is larger than the maximum number of tokens that can be stored in KV cache",
        code="kv_cache_too_small_for_max_model_len",
    ),
    wording("No available memory for the cache blocks", code="no_memory_for_kv_cache"),
    wording(
        "available Mamba cache blocks",
        r"max_num_seqs \(\d+\) exceeds available Mamba cache blocks",
        code="max_num_seqs_exceeds_mamba_blocks",
    ),
    wording(
        "is not supported for",
        r"quantization method \S+ is not supported for the current GPU|Quantization scheme is not supported for",
        code="quantization_not_supported_on_gpu",
    ),
    wording("out of memory", r"(?:CUDA|HIP|XPU)(?: error:)? out of memory", code="cuda_out_of_memory"),
    wording("OutOfMemoryError", r"\bOutOfMemoryError\b", code="cuda_out_of_memory"),
)
_ATTENTION = (
    wording(
        "does not support",
        r"(?i)\b(?:SDPA|SPDA|\w*attn\w*|\w*attention\w*|flashinfer|xformers|MLA)\b.*? does not support ",
        code="attention_feature_unsupported",
    ),
    wording("attention backend", "No valid attention backend", code="attention_feature_unsupported"),
    wording(
        "is not valid for this configuration",
        r"Selected backend .*? is not valid for this configuration",
        code="attention_feature_unsupported",
    ),
    wording("FlashAttention only supports", code="attention_feature_unsupported"),
)
"""Said in passing too, when another backend is taken: a cause only in an error."""

_CONSEQUENCES = (
    wording("EngineCore failed to start", code="engine_core_failed_to_start"),
    wording("Engine core initialization failed", code="engine_core_init_failed"),
)
_FOLLOWS = re.compile(
    r"EngineCore failed to start|Engine core initialization failed|WorkerProc (?:was terminated|initialization failed)"
    r"|WorkerProc failed to start|Engine core proc .* died unexpectedly|EngineDeadError|EngineCore encountered an issue"
    r"|Traceback \(most recent call last\)|See (?:stack trace|root cause)|Exception caught\."
)
_EXCEPTION = re.compile(r"^(?:[\w.]+\.)?(?P<kind>[A-Z]\w*(?:Error|Exception))(?:: (?P<text>.*))?$")
_FRONT_END = "APIServer"


def problems(lines: Sequence[LogLine]) -> tuple[Problem, ...]:
    """Return each kind of error once with its first line, causes first.

    ``worker_error_unknown`` means: something failed before the server was ready (``server_error_unknown``:
    in the front end), and the log does not say why in words that are known.
    """
    causes = dict(reversed([*_causes(lines)]))
    found = [Problem(code, line.shown) for code, line in reversed(causes.items())]
    if not found and (unknown := _unexplained(lines)):
        in_front = any(writer.name.startswith(_FRONT_END) for writer in unknown.writers)
        found.append(Problem("server_error_unknown" if in_front else "worker_error_unknown", unknown.shown))
    consequences = (_first(known.mark, known.says["code"], lines) for known in _CONSEQUENCES)
    return (*found, *(problem for problem in consequences if problem))


def failure(log_text: str) -> str | None:
    """Return the first real cause in vLLM's words: a known one, else the first exception that is no wrapper."""
    lines = read_lines(log_text)
    for _, line in _causes(lines):
        return line.text
    exceptions = (line for line in lines if _EXCEPTION.match(line.text) and not _FOLLOWS.search(line.text))
    # Tracebacks of optional modules that are not there come as warnings.
    return next((line.text for line in exceptions if line.level != "WARNING"), None)


def _causes(lines: Sequence[LogLine]) -> Iterator[tuple[str, LogLine]]:
    for line in lines:
        known = (*_CAUSES, *_ATTENTION) if _is_error(line) else _CAUSES
        yield from ((cause.says["code"], line) for cause, _ in searched(known, line))


def _is_error(line: LogLine) -> bool:
    return line.level in ("ERROR", "CRITICAL") or _EXCEPTION.match(line.text) is not None


def _unexplained(lines: Sequence[LogLine]) -> LogLine | None:
    """Return the first exception, else the first error, of a server that never became ready."""
    if any("Application startup complete" in line.text for line in lines):
        return None
    errors = [line for line in lines if _is_error(line) and not _FOLLOWS.search(line.text)]
    exceptions = [line for line in errors if _EXCEPTION.match(line.text)]
    return next(iter([*exceptions, *errors]), None)


def _first(mark: str, code: str, lines: Sequence[LogLine]) -> Problem | None:
    return next((Problem(code, line.shown) for line in lines if mark in line.text), None)
