"""The runs of a folder: what a list of them shows, read again only where a file has changed."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec

from whichbits.analyze.answer.recommend import claim_of
from whichbits.analyze.curves.load_curves import METRICS
from whichbits.analyze.summary import Recommendation, Summary
from whichbits.errors import WhichbitsError
from whichbits.language.phrase import Phrase
from whichbits.record.manifest import FILE_NAME
from whichbits.record.run import Run
from whichbits.record.schema import Cell, Manifest
from whichbits.report.answer.validity import doubts
from whichbits.view.files import is_there

Progress = Literal["running", "finished", "cut short", "unreadable"]

_SILENT_SECONDS = 120.0
"""A run whose files nobody touched for so long is no longer running: scrapes come several times a second."""

_WORST = ("client_limited", "client_suspect", "client_ok")


Met = tuple[str, int | None, float | None]
"""An arm and a load that it was measured at: concurrency and request rate."""


@dataclass(frozen=True)
class AnswerLine:
    """What a run answers by one metric, and what makes it less than sure, as its report says it."""

    text: str
    doubts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Entry:
    """One run, as a list shows it. An unreadable one has a ``problem`` and little else."""

    name: str
    folder: Path
    progress: Progress
    study: str = ""
    source: str = ""
    created: str = ""
    arms: tuple[str, ...] = ()
    cells: int = 0
    ended: int = 0
    failed: int = 0
    client: str | None = None
    answers: tuple[AnswerLine, ...] = ()
    met: frozenset[Met] = frozenset()
    problem: str | None = None

    @property
    def words(self) -> str:
        """All that a search looks at, in small letters."""
        answers = (answer.text for answer in self.answers)
        return " ".join((self.name, self.study, self.source, self.progress, *self.arms, *answers)).casefold()


class Catalogue:
    """Knows the runs of ``folder``; a folder that is itself a run is the only one."""

    def __init__(self, folder: Path) -> None:
        """``folder`` may gain and lose runs at any time."""
        self.folder = folder
        self._known: dict[Path, tuple[tuple[int, ...], Entry]] = {}

    def entries(self) -> list[Entry]:
        """Return all runs, the newest first."""
        found = [self._entry(folder) for folder in self._folders()]
        return sorted(found, key=lambda entry: (entry.created, entry.name), reverse=True)

    def find(self, name: str) -> Entry | None:
        """Return the run of that name; names are folder names, so a path finds nothing."""
        return next((self._entry(folder) for folder in self._folders() if folder.name == name), None)

    def _folders(self) -> Iterator[Path]:
        if is_there(self.folder / FILE_NAME):
            yield self.folder.resolve()
        elif self.folder.is_dir():
            yield from (each for each in self.folder.iterdir() if is_there(each / FILE_NAME))

    def _entry(self, folder: Path) -> Entry:
        state = tuple(_changed_ns(folder / name) for name in (FILE_NAME, "summary.json", "requests"))
        known = self._known.get(folder)
        if known is None or known[0] != state or known[1].progress == "running":
            known = self._known[folder] = (state, _read(folder))
        return known[1]


def _read(folder: Path) -> Entry:
    try:
        run = Run.load(folder)
    except WhichbitsError as error:
        return Entry(folder.name, folder, "unreadable", problem=error.what)
    manifest = run.manifest
    return Entry(
        name=folder.name,
        folder=folder,
        progress=_progress(run),
        study=manifest.name,
        source=manifest.source,
        created=manifest.created,
        arms=_arms(manifest),
        cells=len(run.cells),
        ended=sum(cell.state != "planned" for cell in run.cells),
        failed=sum(cell.failed or 0 for cell in run.cells),
        client=_worst_verdict(run.cells),
        answers=_answers(folder),
        met=frozenset((cell.arm, cell.concurrency, cell.request_rate) for cell in run.cells if cell.state == "done"),
    )


def _arms(manifest: Manifest) -> tuple[str, ...]:
    told: Any = manifest.study.get("arms")
    return tuple(told) if isinstance(told, dict) and told else tuple(manifest.arms)


def _progress(run: Run) -> Progress:
    if not run.interrupted:
        return "finished"
    if run.manifest.interrupted:
        return "cut short"
    youngest = max(
        (_changed_ns(path) for path in (run.folder, *run.folder.iterdir(), *_streams(run.folder))), default=0
    )
    return "running" if time.time_ns() - youngest < _SILENT_SECONDS * 1e9 else "cut short"


def _streams(folder: Path) -> Iterator[Path]:
    for name in ("scrapes", "logs"):
        if (folder / name).is_dir():
            yield from (folder / name).iterdir()


def _worst_verdict(cells: Sequence[Cell]) -> str | None:
    seen = {cell.client.verdict for cell in cells if cell.client is not None}
    return next((verdict for verdict in _WORST if verdict in seen), None)


def _answers(folder: Path) -> tuple[AnswerLine, ...]:
    try:
        summary = msgspec.json.decode((folder / "summary.json").read_bytes(), type=Summary)
    except (OSError, msgspec.MsgspecError):
        # A run that has no report yet, or one by another version: the list does without its answer.
        return ()
    told = summary.recommendation
    return tuple(AnswerLine(_sayable(each), doubts(each, summary, beside_text=True)) for each in told)


def _sayable(answer: Recommendation) -> str:
    """Return the recorded text, which in other languages says who leads up to which load."""
    if answer.metric not in METRICS:
        return answer.text
    made = Phrase(answer.text)
    made.template = "{metric}: {claim}"
    made.fields = {"metric": METRICS[answer.metric].name, "claim": claim_of(answer)}
    return made


def _changed_ns(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
