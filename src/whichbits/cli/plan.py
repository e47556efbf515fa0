"""``whichbits plan``: the cheapest fleet for a day of traffic, without a GPU."""

import os
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console

from whichbits.cli.lang import Lang
from whichbits.errors import SloMissed
from whichbits.language.language import language
from whichbits.plan.answer import DRAWS, plan_study
from whichbits.predict.calibration_file import read_calibration
from whichbits.predict.constants import default_constants
from whichbits.predict.shipped import Known
from whichbits.report.plan.fleet_json import plan_json
from whichbits.report.plan.fleet_table import print_plan
from whichbits.study.read import read_study


def plan(
    study: Path,
    *,
    calibration: Path | None = None,
    shipped_calibrations: bool = True,
    draws: int = DRAWS,
    workers: int | None = None,
    json: Annotated[bool, Parameter(negative=())] = False,
    lang: Lang = "en",
) -> int:
    """Say which format on which GPU, and how many replicas each hour, serve a day of traffic under an SLO for least.

    Args:
        study: A study file with `slo` and `plan`.
        calibration: What `whichbits calibrate` wrote: constants that were fitted to a run.
        shipped_calibrations: Use the calibrations that come with this release for the GPUs and engine, where there are
            any and `--calibration` names no other.
        draws: Draws of the constants behind each interval; 0 gives none, in less time.
        workers: Processes to try options in; all cores where this is not given.
        json: Print the plan as one JSON object on stdout.
        lang: Language of what is printed; the JSON object stays English.
    """
    asked = read_study(study)
    if calibration is not None:
        known = Known(read_calibration(calibration))
    else:
        known = Known(default_constants(), asked.engine_version, shipped=shipped_calibrations)
    answer = plan_study(asked, known, draws, workers or len(os.sched_getaffinity(0)))
    if json:
        print(plan_json(answer))
    else:
        print_plan(answer, Console(), language(lang))
    return 0 if answer.cheapest else SloMissed.exit_code
