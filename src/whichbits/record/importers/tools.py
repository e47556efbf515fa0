"""Every tool whose results are read; the content of a file decides which one wrote it."""

from pathlib import Path

from whichbits.errors import BadInput
from whichbits.record.importers.aiperf import AIPERF_CSV, AIPERF_JSON
from whichbits.record.importers.aiperf_records import AIPERF_RECORDS
from whichbits.record.importers.bench_result import SGLANG_BENCH, VLLM_BENCH
from whichbits.record.importers.guidellm import GUIDELLM
from whichbits.record.importers.imported_cell import ImportedCell
from whichbits.record.importers.importer import Importer
from whichbits.record.importers.inference_perf import INFERENCE_PERF_REQUESTS, INFERENCE_PERF_SUMMARY
from whichbits.record.importers.llmd_report import LLMD_REPORT
from whichbits.record.importers.result_file import ResultFile, read_file

IMPORTERS: dict[str, Importer] = {
    "vllm-bench": VLLM_BENCH,
    "sglang-bench": SGLANG_BENCH,
    "guidellm": GUIDELLM,
    "aiperf-json": AIPERF_JSON,
    "aiperf-csv": AIPERF_CSV,
    "aiperf-records": AIPERF_RECORDS,
    "inference-perf": INFERENCE_PERF_SUMMARY,
    "inference-perf-requests": INFERENCE_PERF_REQUESTS,
    "llm-d-report": LLMD_REPORT,
}


def read_results(path: Path) -> list[ImportedCell]:
    """Return the cells of a result file.

    Raises:
        BadInput: ``unreadable_file``, ``result_too_large``, ``result_unknown``, ``result_cut_off`` or ``result_empty``.
    """
    file = read_file(path)
    for importer in IMPORTERS.values():
        if importer.recognises(file):
            if _starts_as_json(file) and (file.json.cut_off or file.json.broken_lines):
                break
            cells = importer.read(file)
            return [cell for cell in cells if _says_something(cell)] or _refuse_empty(path, importer)
    raise _cut_off(path) if _starts_as_json(file) else _unknown(path)


def _says_something(cell: ImportedCell) -> bool:
    return bool(cell.records or cell.imported.statistics)


def _starts_as_json(file: ResultFile) -> bool:
    return file.text.lstrip()[:1] in ("{", "[")


def _refuse_empty(path: Path, importer: Importer) -> list[ImportedCell]:
    raise BadInput(
        "result_empty",
        f"{path} is a result of {importer.tool}, but holds no number that can be used",
        why="no request succeeded, or every number is NaN or missing",
        fix="look at the tool's own output for why nothing was measured",
    )


def _cut_off(path: Path) -> BadInput:
    return BadInput(
        "result_cut_off",
        f"{path} starts as JSON but is not whole, or is JSON of another kind",
        why="it was cut off while it was written or copied, or it is not a result file",
        fix="copy the file again, or give one of: vllm bench serve, SGLang, GuideLLM, AIPerf, inference-perf, llm-d",
    )


def _unknown(path: Path) -> BadInput:
    return BadInput(
        "result_unknown",
        f"{path} is no result that whichbits can read",
        why="it is neither a run folder, a summary.json, nor a result of a tool that is known",
        fix="see docs/compare.md for the files of each tool",
    )
