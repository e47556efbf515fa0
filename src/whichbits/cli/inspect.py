"""``whichbits inspect``: read what an engine or a tool wrote, whatever it is."""

import json as json_text
import math
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from whichbits.cli.inspected import Inspected, files_of, inspected, is_run, mean_tokens_of
from whichbits.cli.lang import Lang
from whichbits.errors import BadInput, WhichbitsError
from whichbits.language.language import Language, language
from whichbits.language.phrase import phrase
from whichbits.record.inspected_lines import numbered, shortened
from whichbits.record.inspection import Inspection, Problem

_OK, _SOME_NOT_READ = 0, 2
_NO_LINES: dict[str, dict[str, Any]] = {"lines": {}, "texts": {}}


def inspect(
    *files: Annotated[Path, Parameter(allow_leading_hyphen=True)],
    json: Annotated[bool, Parameter(negative=())] = False,
    mean_tokens: float | None = None,
    run: Path | None = None,
    lang: Lang = "en",
) -> int:
    """Say what files hold that engines and tools wrote, with the line of each fact.

    Args:
        files: What to read ("-" is standard input). Of a run's folder its logs, scrapes and profiles are read, of any
            other folder each file in it.
        json: Print one object a file on stdout, a line each.
        mean_tokens: Mean prompt plus output tokens of your requests: says how many of them fit at once.
        run: Take the mean tokens from the requests of this run.
        lang: Language of what is printed; JSON objects stay English.
    """
    _refuse(files, mean_tokens)
    spoken = language(lang)
    if mean_tokens is None and run is not None:
        mean_tokens = mean_tokens_of(run)
    status = _OK
    for named in files:
        try:
            own_mean = mean_tokens_of(named) if mean_tokens is None and is_run(named) else mean_tokens
            for file in files_of(named):
                found = _with_fit(inspected(file), own_mean)
                if mean_tokens is not None and found.inspection is not None:
                    _tell_if_no_fit(found.file, found.inspection, spoken)
                told = _tell(found, json=json, spoken=spoken)
                status = max(status, told if file == named or not _is_empty(found) else _OK)
        except BadInput as error:
            status = max(status, _tell(Inspected(named, "", None, error), json=json, spoken=spoken))
    return status


def _is_empty(found: Inspected) -> bool:
    """Tell of an empty file, which is no error in a folder: a server that says nothing leaves an empty log."""
    return found.error is not None and found.error.code == "empty_file"


def _refuse(files: tuple[Path, ...], mean_tokens: float | None) -> None:
    if not files:
        raise BadInput("no_file", "No file was given.", why="inspect reads files.", fix="Name one or more files.")
    if mean_tokens is not None and not (math.isfinite(mean_tokens) and mean_tokens > 0):
        raise BadInput(
            "mean_tokens_not_positive",
            f"--mean-tokens is {mean_tokens:g}.",
            why="It is the mean of prompt plus output tokens of a request, at least 1.",
            fix="Give the mean of your traffic, such as 438, or --run with a run's folder.",
        )


def _with_fit(found: Inspected, mean_tokens: float | None) -> Inspected:
    """Add how many requests fit to the facts of logs and metrics, which know the pool."""
    inspection = found.inspection
    if inspection is None or mean_tokens is None or inspection.kind not in ("startup_log", "metrics"):
        return found
    from whichbits.serve.fit import fit

    facts = inspection.facts | fit(inspection.facts, mean_tokens, engine=inspection.engine)
    return found._replace(inspection=replace(inspection, facts=facts))


def _tell_if_no_fit(file: Path, inspection: Inspection, spoken: Language) -> None:
    """Say in a line that a size was asked about in vain."""
    if "requests_that_fit" not in inspection.facts:
        why = phrase("no size of a KV cache is told here, so how many requests fit is not known")
        said = phrase("{file}: --mean-tokens has no effect: {why}", file=repr(str(file)), why=why)
        print(spoken.say(said), file=sys.stderr)


def _tell(found: Inspected, *, json: bool, spoken: Language) -> int:
    if found.error is not None:
        _explain(found.error, spoken)
    if json:
        _print_json(_finite(_as_json(found)))
    elif found.inspection is not None:
        _show(found, found.inspection, spoken)
    return _OK if found.error is None else _SOME_NOT_READ


def _print_json(value: Any) -> None:
    try:
        print(json_text.dumps(value, ensure_ascii=False))
    except UnicodeEncodeError:  # half a character in the file, or a terminal of an old encoding
        print(json_text.dumps(value))


def _finite(value: Any) -> Any:
    """Return the value without numbers that JSON cannot hold."""
    match value:
        case dict():
            return {str(key): _finite(entry) for key, entry in value.items()}
        case list() | tuple():
            return [_finite(entry) for entry in value]
        case float() if not math.isfinite(value):
            return None
        case _:
            return value


def _as_json(found: Inspected) -> dict[str, Any]:
    inspection, error = found.inspection, found.error
    if inspection is None:
        code = None if error is None else error.code
        empty: dict[str, Any] = {"kind": None, "engine": None, "engine_version": None, "facts": {}}
        return {"file": str(found.file), **empty, "errors": [{"code": code, "line": None}], "warnings": [], **_NO_LINES}
    lines = numbered(found.text, inspection.lines)
    return {
        "file": str(found.file),
        "kind": inspection.kind,
        "engine": inspection.engine,
        "engine_version": inspection.engine_version,
        "facts": inspection.facts,
        "errors": [_problem(each) for each in inspection.errors],
        "warnings": [_problem(each) for each in inspection.warnings],
        "lines": lines.of_facts,
        "texts": lines.texts,
    }


def _problem(problem: Problem) -> dict[str, str | None]:
    return {"code": problem.code, "line": None if problem.line is None else shortened(problem.line)}


def _show(found: Inspected, inspection: Inspection, spoken: Language) -> None:
    from rich.console import Console

    from whichbits.report.inspection.inspection import print_inspection

    print_inspection(str(found.file), found.text, inspection, Console(), spoken)


def _explain(error: WhichbitsError, spoken: Language) -> None:
    from rich.console import Console

    from whichbits.report.error import print_error

    print_error(error, Console(stderr=True), spoken)
