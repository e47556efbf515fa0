"""``whichbits compare``: runs or other tools' results against each other."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import Parameter
from rich.console import Console

from whichbits.analyze.comparison.comparison import Comparison, compare
from whichbits.analyze.comparison.gates import GateOutcome, judge, read_gate, undecidable
from whichbits.analyze.comparison.pairs import pairs
from whichbits.analyze.comparison.sources import Source, read_source
from whichbits.analyze.curves.load_curves import MARGIN
from whichbits.cli.lang import Lang
from whichbits.errors import BadInput, SloMissed
from whichbits.language.language import language
from whichbits.report.comparison.markdown import comparison_markdown
from whichbits.report.comparison.terminal import print_comparison

_STEP_SUMMARY = "GITHUB_STEP_SUMMARY"


def compare_results(
    *sources: str,
    margin: float = MARGIN * 100,
    fail_on: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    fail_on_uncertain: Annotated[bool, Parameter(negative=())] = False,
    markdown: Path | None = None,
    summary: Annotated[bool, Parameter(negative=())] = False,
    json: Annotated[bool, Parameter(negative=())] = False,
    lang: Lang = "en",
) -> int:
    """Compare run folders, summary.json files and other tools' results; the first is the baseline.

    Args:
        sources: A run folder, a summary.json, a result file of vllm bench serve, SGLang, GuideLLM, AIPerf,
            inference-perf or llm-d, or a folder of such files; NAME=PATH gives it a name.
        margin: Percent within which two sides are taken as equal.
        fail_on: Exit with 5 if a metric is beyond doubt beyond this, as "p99_ttft +10%"; may be given again.
        fail_on_uncertain: Exit with 5 also where a limit cannot be shown to hold, or a load cannot be compared.
        markdown: Write the comparison into this file.
        summary: Append it to the summary of a GitHub step.
        json: Print one object on stdout, everything else on stderr.
        lang: Language of the comparison; the JSON object stays English.
    """
    gates = [read_gate(text) for text in fail_on]
    places = _places(markdown, summary=summary)
    found = compare(pairs(_read(sources)), _margin(margin))
    outcomes = [judge(gate, found) for gate in gates]
    print_comparison(found, outcomes, Console(stderr=json), language(lang))
    for path, mode in places:
        _write(path, mode, comparison_markdown(found, outcomes, language(lang)))
    if json:
        sys.stdout.buffer.write(_as_json(found, outcomes))
        sys.stdout.flush()
    return _exit_code(outcomes, fail_on_uncertain=fail_on_uncertain)


def _read(sources: Sequence[str]) -> list[Source]:
    if not sources:
        raise BadInput(
            "no_file", "Nothing to compare was given.", why="compare reads runs and results.", fix="Name two."
        )
    return [read_source(source) for source in sources]


def _margin(percent: float) -> float:
    if not 0 <= percent < 100:
        raise BadInput(
            "margin_unusable",
            f"--margin {percent:g} is no percentage from 0 to below 100",
            why="it is the difference, in percent, that nobody would act on",
            fix="give a number such as 3",
        )
    return percent / 100


def _places(markdown: Path | None, *, summary: bool) -> list[tuple[Path, str]]:
    places = [] if markdown is None else [(markdown, "w")]
    if summary and not os.environ.get(_STEP_SUMMARY):
        raise BadInput(
            "no_step_summary",
            f"--summary: {_STEP_SUMMARY} is not set",
            why="this is no step of a GitHub workflow",
            fix="use --markdown FILE here",
        )
    return [*places, *([(Path(os.environ[_STEP_SUMMARY]), "a")] if summary else [])]


def _write(path: Path, mode: str, text: str) -> None:
    try:
        with path.open(mode, encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise BadInput(
            "output_unwritable",
            f"cannot write {path}: {error.strerror}",
            why="the folder does not exist, is read-only or full",
            fix="name a file in a folder you can write to",
        ) from error


def _as_json(comparison: Comparison, outcomes: Sequence[GateOutcome]) -> bytes:
    told = msgspec.to_builtins(comparison, enc_hook=str) | {"gates": msgspec.to_builtins(list(outcomes), enc_hook=str)}
    return msgspec.json.format(msgspec.json.encode(told), indent=2) + b"\n"


def _exit_code(outcomes: Sequence[GateOutcome], *, fail_on_uncertain: bool) -> int:
    broken = [outcome for outcome in outcomes if outcome.breaks(sure=fail_on_uncertain)]
    if broken and not fail_on_uncertain and all(outcome.verdict == "undecidable" for outcome in broken):
        raise undecidable(broken[0])
    return SloMissed.exit_code if broken else 0
