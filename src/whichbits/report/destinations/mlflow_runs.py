"""MLflow: a run for the study, and within it one for each arm, with its numbers over load.

Source of the calls: https://mlflow.org/docs/latest/ml/tracking/tracking-api
"""

import os
from collections.abc import Iterator
from typing import Any

from whichbits.analyze import amounts
from whichbits.language.phrase import phrase
from whichbits.report.destinations.arm_series import ArmSeries, arm_series
from whichbits.report.destinations.destination import Outgoing, library, refused

_FILES = ("summary.json", "report.md", "report.html")


def mlflow_runs(outgoing: Outgoing) -> Iterator[str]:
    """Log to the tracking server at ``endpoint`` (else ``MLFLOW_TRACKING_URI``), in the experiment ``project``."""
    # By itself it tries for minutes before it says that nobody answers.
    os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "2")
    mlflow = library("mlflow", "mlflow")
    summary = outgoing.summary
    try:
        if outgoing.endpoint is not None:
            mlflow.set_tracking_uri(outgoing.endpoint)
        mlflow.set_experiment(outgoing.project or summary.study)
        with mlflow.start_run(run_name=summary.run, tags={"whichbits.source": summary.source}) as parent:
            for file in _FILES:
                if (path := outgoing.run.folder / file).is_file():
                    mlflow.log_artifact(str(path))
            for series in arm_series(summary):
                _log(mlflow, series)
                yield phrase(
                    "mlflow: {arm}, {cells}, in run {run}",
                    arm=series.arm,
                    cells=amounts.cells(len(series.points)),
                    run=parent.info.run_id,
                )
    except mlflow.MlflowException as error:
        raise refused(f"MLflow at {mlflow.get_tracking_uri()}", error) from error


def _log(mlflow: Any, series: ArmSeries) -> None:
    with mlflow.start_run(run_name=series.arm, nested=True):
        mlflow.log_params(series.facts)
        for point in series.points:
            mlflow.log_metrics(point.numbers, step=point.step)
