"""Looking at an arm's servers between cells: who serves now, and what each has counted."""

from dataclasses import replace

from whichbits.conduct.events import Notice
from whichbits.conduct.stage import Stage
from whichbits.errors import ServerNotReady, in_one_line
from whichbits.record.scrapes import Phase, Scrape
from whichbits.serve.arm import RunningArm


async def changes(stage: Stage, running: RunningArm) -> tuple[str, ...]:
    """Return what changed among the servers since the last look, in words; who came is recorded with the arm.

    Raises:
        ServerNotReady: nobody can say who serves.
        ArmMismatch: a server that came is not the arm.
    """
    seen = await running.fleet.refresh()
    arm = running.record.arm
    if seen:
        stage.writer.arm(replace(stage.writer.manifest.arms[arm], replicas=running.fleet.records))
    for change in seen:
        stage.listen(Notice(f"{arm}: {change}"))
    return seen


async def scrape(stage: Stage, running: RunningArm, cell: int, phase: Phase) -> list[str]:
    """Keep every replica's /metrics; return a note for each that gave none.

    Raises:
        ServerNotReady: one gave none because it died.
    """
    notes = []
    for replica in running.fleet.replicas:
        if not replica.has_metrics:
            continue
        try:
            seen = await replica.control.scrape()
        except ServerNotReady as silent:
            if (death := await running.fleet.death()) is not None:
                raise death from silent
            notes.append(f"replica {replica.name} gave no metrics {phase} the cell: {in_one_line(silent)}")
            continue
        time_ns = seen.time_ns - stage.origin_ns
        stage.writer.scrape(Scrape(running.record.arm, replica.name, cell, phase, time_ns, seen.text))
    return notes
