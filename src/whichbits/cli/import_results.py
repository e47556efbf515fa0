"""``whichbits import``: other tools' results as a run, to be reported, compared and kept like one of our own."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from whichbits.analyze.comparison.sources import by_arm, named_path, result_cells
from whichbits.cli.lang import Lang
from whichbits.errors import BadInput
from whichbits.record.importers.imported_cell import ImportedCell
from whichbits.record.importers.imported_run import write_imported_run
from whichbits.report.rebuild import rebuild_reports


def import_results(
    *results: str,
    into: Path = Path("runs"),
    name: str = "imported",
    json: Annotated[bool, Parameter(negative=())] = False,
    lang: Lang = "en",
) -> int:
    """Make a run of result files of vllm bench serve, SGLang, GuideLLM, AIPerf, inference-perf or llm-d, and report it.

    Args:
        results: Result files, or folders of them. ARM=PATH names the arm; otherwise the file does.
        into: The folder in which the run's folder is made.
        name: Names the run.
        json: Print summary.json on stdout, everything else on stderr.
        lang: Language of the reports and of what is printed; summary.json stays English.
    """
    if not results:
        raise BadInput("no_file", "No result was given.", why="import reads result files.", fix="Name one or more.")
    arms: dict[str, list[ImportedCell]] = {}
    for result in results:
        arm, path = named_path(result)
        for found, cells in by_arm(result_cells(path), arm).items():
            arms.setdefault(found, []).extend(cells)
    rebuild_reports(write_imported_run(into, name, arms), json_to_stdout=json, lang=lang)
    return 0
