"""The plan says how long it takes, and of which machine that is true."""

import io

from rich.console import Console

from whichbits.conduct.order import visits
from whichbits.report.plan.dry_run import show_plan
from whichbits.study.read import quickstart


def test_the_plan_says_of_which_machine_it_is_true() -> None:
    file = io.StringIO()
    show_plan(quickstart(), visits(quickstart()), Console(file=file, width=200))

    assert "by a rough rule for the built-in model on a quiet machine of two cores" in file.getvalue()
