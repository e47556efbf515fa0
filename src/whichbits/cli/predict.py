"""``whichbits predict``: play a study in virtual time and report it like a measured one."""

import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console

from whichbits.cli.lang import Lang
from whichbits.conduct.host import host_facts, tool_versions
from whichbits.conduct.order import visits
from whichbits.conduct.secrets import recordable
from whichbits.errors import ServerNotReady
from whichbits.hardware.devices import find_device
from whichbits.language.language import Language, language
from whichbits.language.phrase import phrase
from whichbits.language.recognition import tell
from whichbits.predict.calibration_file import read_calibration
from whichbits.predict.constants import Constants, default_constants
from whichbits.predict.run import DRAWS, Assumed, predict_study, refuse_impossible
from whichbits.predict.shipped import Shipped, shipped_for
from whichbits.record.schema import SCHEMA_VERSION, Manifest
from whichbits.record.writer import RunWriter
from whichbits.report.error import print_error
from whichbits.report.rebuild import rebuild_reports
from whichbits.study.model import Load, Study
from whichbits.study.read import read_study
from whichbits.study.search import AutoLoads, LoadRange
from whichbits.traffic.plan import traffic_facts


def predict(
    study: Path,
    *,
    gpu: str | None = None,
    engine_version: str | None = None,
    calibration: Path | None = None,
    shipped_calibrations: bool = True,
    draws: int = DRAWS,
    output: Path | None = None,
    json: Annotated[bool, Parameter(negative=())] = False,
    lang: Lang = "en",
) -> int:
    """Play a study in virtual time on a GPU that need not be here, and report it like a measured run.

    Args:
        study: A study file.
        gpu: The GPU of every replica; the study's own is used where this is not given.
        engine_version: The engine's version, as 0.25.1; the study's own is used where this is not given.
        calibration: What `whichbits calibrate` wrote: constants that were fitted to a run.
        shipped_calibrations: Use the calibration that comes with this release for the GPU and engine, if there is one
            and `--calibration` names no other.
        draws: Plays behind each interval; 0 gives none, in less time.
        output: Folder for run folders; the study's own is used where this is not given.
        json: Print summary.json on stdout, everything else on stderr.
        lang: Language of the reports and of what is printed; summary.json stays English.
    """
    asked = _asked(read_study(study), gpu, engine_version)
    shipped = _shipped(asked) if shipped_calibrations and calibration is None else None
    constants = _constants(calibration, shipped)
    _say_gpu(asked, language(lang))
    refuse_impossible(asked, constants)
    cells = tuple(cell for visit in visits(asked) for cell in visit.cells)
    writer = RunWriter.create(output or Path(asked.output), _manifest(asked))
    if shipped is not None:
        writer.note(str(shipped))
        print(tell(str(shipped), language(lang)), file=sys.stderr)
    refused = predict_study(asked, cells, writer, Assumed(constants, draws, asked.seed))
    rebuild_reports(writer.folder, json_to_stdout=json, lang=lang)
    for error in refused:
        print_error(error, Console(stderr=True), language(lang))
    return ServerNotReady.exit_code if refused else 0


def _say_gpu(study: Study, spoken: Language) -> None:
    """Say which GPU a short name was taken for: an H100 is sold in more than one form."""
    taken = None if study.gpu is None else find_device(study.gpu).name
    if taken is not None and taken != study.gpu:
        said = phrase("gpu {asked} is taken as {taken}", asked=study.gpu or "", taken=taken)
        print(spoken.say(said), file=sys.stderr)


def _shipped(study: Study) -> Shipped | None:
    return None if study.gpu is None else shipped_for(study.gpu, study.engine_version)


def _constants(calibration: Path | None, shipped: Shipped | None) -> Constants:
    if calibration is not None:
        return read_calibration(calibration)
    return default_constants() if shipped is None else shipped.among(default_constants())


def _asked(study: Study, gpu: str | None, engine_version: str | None) -> Study:
    given = {"gpu": gpu, "engine_version": engine_version}
    loads = {"loads": _doubled(study.loads.auto)} if isinstance(study.loads, AutoLoads) else {}
    return study.model_copy(update=loads | {key: value for key, value in given.items() if value is not None})


def _doubled(asked: LoadRange) -> tuple[Load, ...]:
    """Return loads a factor of 2 apart for a search: cells in virtual time cost nothing that would have to be saved."""
    found = [asked.lowest]
    while 2 * found[-1] < asked.highest:
        found.append(2 * found[-1])
    return tuple(Load(concurrency=load) for load in (*found, asked.highest))


def _manifest(study: Study) -> Manifest:
    return Manifest(
        schema_version=SCHEMA_VERSION,
        source="predicted",
        name=study.name,
        study=recordable(study),
        created=datetime.now(UTC).astimezone().isoformat(timespec="seconds"),
        origin_unix_ns=time.time_ns(),
        host=host_facts(),
        tools=tool_versions(),
        traffic=traffic_facts(study),
    )
