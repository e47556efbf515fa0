"""Weights & Biases: a run for each arm, in a group for the study, with its numbers over load.

``WANDB_MODE=offline`` writes to ./wandb and sends nothing. Source of the calls: https://docs.wandb.ai/ref/python
"""

from collections.abc import Iterator

from whichbits.analyze import amounts
from whichbits.language.phrase import phrase
from whichbits.report.destinations.arm_series import arm_series
from whichbits.report.destinations.destination import Outgoing, library, refused


def wandb_runs(outgoing: Outgoing) -> Iterator[str]:
    """Log to the project ``project`` (else the study's name) of the server at ``endpoint``, if one is named."""
    wandb = library("wandb", "wandb")
    summary = outgoing.summary
    address = {} if outgoing.endpoint is None else {"base_url": outgoing.endpoint}
    try:
        settings = wandb.Settings(quiet=True, **address)  # its pictures of every number would bury what is told below
        for series in arm_series(summary):
            with wandb.init(
                project=outgoing.project or summary.study,
                name=f"{summary.run} {series.arm}",
                group=summary.run,
                job_type=series.facts["weight_format"],
                config=series.facts,
                settings=settings,
            ) as run:
                run.define_metric("load")
                run.define_metric("*", step_metric="load")
                for point in series.points:
                    run.log(point.numbers)
            yield phrase("wandb: {arm}, {cells}", arm=series.arm, cells=amounts.cells(len(series.points)))
    except (wandb.Error, ValueError) as error:  # an address that is none is a ValueError
        raise refused("Weights & Biases", error) from error
