"""vLLM-Omni serves a chain of models from one process tree: which stage of the chain wrote each line."""

from collections.abc import Sequence

from whichbits.serve.logs.lines import LogLine, Writer

Stages = dict[str | None, list[LogLine]]


def by_stage(lines: Sequence[LogLine]) -> Stages:
    """Return the lines of each stage by its number; None holds those of the whole deployment.

    Libraries log without the stage's mark, but from a process that some other line puts into a stage.
    """
    stage_of = _processes(lines)
    stages: Stages = {None: []}
    for line in lines:
        stage = line.stage or next((stage_of[who] for who in line.writers if stage_of.get(who)), None)
        stages.setdefault(stage, []).append(line)
    return stages


def _processes(lines: Sequence[LogLine]) -> dict[Writer, str | None]:
    """Return the stage of each process; None for one that speaks for several."""
    stage_of: dict[Writer, str | None] = {}
    for line in lines:
        for who in line.writers if line.stage else ():
            known = stage_of.setdefault(who, line.stage)
            stage_of[who] = known if known == line.stage else None
    return stage_of
