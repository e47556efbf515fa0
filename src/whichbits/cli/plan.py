"""``whichbits plan``: the cheapest fleet for a day of traffic, without a GPU."""

import os
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console

from whichbits.errors import SloMissed
from whichbits.plan.answer import DRAWS, plan_study
from whichbits.predict.calibration_file import read_calibration
from whichbits.predict.constants import default_constants
from whichbits.report.plan.fleet_json import plan_json
from whichbits.report.plan.fleet_table import print_plan
from whichbits.study.read import read_study


def plan(
    study: Path,
    *,
    calibration: Path | None = None,
    draws: int = DRAWS,
    workers: int | None = None,
    json: Annotated[bool, Parameter(negative=())] = False,
) -> int:
    """Say which format on which GPU, and how many replicas each hour, serve a day of traffic under an SLO for least.

    Args:
        study: A study file with `slo` and `plan`.
        calibration: What `whichbits calibrate` wrote: constants that were fitted to a run.
        draws: Draws of the constants behind each interval; 0 gives none, in less time.
        workers: Processes to try options in; all cores where this is not given.
        json: Print the plan as one JSON object on stdout.
    """
    constants = default_constants() if calibration is None else read_calibration(calibration)
    answer = plan_study(read_study(study), constants, draws, workers or len(os.sched_getaffinity(0)))
    if json:
        print(plan_json(answer))
    else:
        print_plan(answer, Console())
    return 0 if answer.cheapest else SloMissed.exit_code
