"""How long each arm takes from its start until it serves, by stage."""

from whichbits.analyze.engine.cold_start import ColdStart
from whichbits.analyze.summary import Summary
from whichbits.language.phrase import phrase
from whichbits.record.schema import Manifest
from whichbits.report.sheets.sheet import Sheet
from whichbits.report.wording import MISSING, number

_STAGES = {
    "download": phrase("download"),
    "weights": phrase("weights"),
    "load": phrase("loading"),
    "compile": phrase("compile"),
    "cuda_graphs": phrase("CUDA graphs"),
    "init": phrase("init"),
    "rest": phrase("rest"),
    "ready": phrase("ready"),
    "beside": phrase("started beside"),
}


def cold_starts(summary: Summary, _: Manifest) -> Sheet | None:
    """Return an arm a row; None if no server told its times. Stages that none tells are left out."""
    starts = {name: arm.cold_start for name, arm in summary.arms.items() if arm.cold_start is not None}
    shown = tuple(stage for stage in _STAGES if any(_seconds(start, stage) != MISSING for start in starts.values()))
    if not shown:
        return None
    return Sheet(
        name="cold-start",
        title=phrase("Cold start"),
        meaning=phrase(
            "Seconds of the slowest replica. Loading holds download and weights; init comes after it and holds "
            "compilation and CUDA graphs; the rest is process, imports and tokenizer. Beside others that start "
            "meanwhile, counted in the last column if there were any, a start takes longer."
        ),
        headings=(phrase("arm"), *(_STAGES[stage] for stage in shown)),
        rows=tuple((name, *(_seconds(start, stage) for stage in shown)) for name, start in starts.items()),
    )


def _seconds(start: ColdStart, stage: str) -> str:
    return number(getattr(start, stage))
