"""``whichbits doctor``: what is wrong with this machine and this study, before anything starts."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console

from whichbits.cli.lang import Lang
from whichbits.doctor.examine import examine
from whichbits.errors import ServerNotReady
from whichbits.language.language import language
from whichbits.report.examination import examination_json, print_examination
from whichbits.study.read import read_study


def doctor(
    study: Path | None = None,
    *,
    python: Annotated[tuple[str, ...], Parameter(consume_multiple=True)] = (),
    commands: Path | None = None,
    imports: bool = True,
    json: Annotated[bool, Parameter(negative=())] = False,
    lang: Lang = "en",
) -> int:
    """Examine this machine, the interpreters that serve, and a study; each finding comes with its remedy.

    Nothing is started, installed or changed. Ends with 3 where something would keep the study from running.

    Args:
        study: A study file; without one, the machine and this interpreter are examined.
        python: Interpreters to examine in place of the study's.
        commands: A script or notebook whose vLLM commands are held against the installed version.
        imports: Import torch and its companions in each interpreter, some seconds each.
        json: Print one JSON object on stdout.
        lang: Language of what is printed; the JSON object stays English.
    """
    said = examine(None if study is None else read_study(study), python, commands, imports=imports)
    if json:
        print(examination_json(said))
    else:
        print_examination(said, Console(), language(lang))
    return ServerNotReady.exit_code if any(each.state == "problem" for each in said) else 0
