"""The reporters by name, and the one function that writes their files."""

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import Protocol, cast

from rich.console import Console
from rich.text import Text

from whichbits.analyze.latency.request_timelines import CellRequests
from whichbits.analyze.summarize import summary_json as encoded
from whichbits.analyze.summary import Summary
from whichbits.errors import BadInput
from whichbits.language.language import ENGLISH, Language
from whichbits.language.phrase import phrase
from whichbits.record.schema import Manifest
from whichbits.report.wording import plain


class Reporter(Protocol):
    """Turns a summary into files; touches no disk, so that a failure leaves nothing behind."""

    def __call__(
        self, summary: Summary, manifest: Manifest, spoken: Language, requests: Sequence[CellRequests] = (), /
    ) -> Mapping[str, bytes]:
        """Return the content of each file by its path relative to the run's folder, the main one first."""
        ...


REPORTERS: dict[str, str] = {
    "json": "whichbits.report.reporters:summary_json",
    "markdown": "whichbits.report.markdown:markdown",
    "html": "whichbits.report.html:html",
    "terminal": "whichbits.report.terminal:text",
}

WRITTEN = ("json", "markdown", "html")


def reporter(name: str) -> Reporter:
    """Return a reporter, importing its module only now.

    Raises:
        BadInput: ``report_unknown`` if there is none of that name.
    """
    if name not in REPORTERS:
        raise BadInput(
            "report_unknown",
            f"there is no reporter named {name!r}",
            why="the name is misspelt, or from another version",
            fix=f"use one of {', '.join(REPORTERS)}",
        )
    module, _, function = REPORTERS[name].partition(":")
    return cast("Reporter", getattr(import_module(module), function))


def summary_json(
    summary: Summary,
    manifest: Manifest,  # noqa: ARG001 - a Reporter
    spoken: Language = ENGLISH,  # noqa: ARG001 - a Reporter
    requests: Sequence[CellRequests] = (),  # noqa: ARG001 - a Reporter
) -> Mapping[str, bytes]:
    """Return summary.json as its types say, in English whatever people read: scripts do."""
    return {"summary.json": encoded(summary)}


def write_reports(  # noqa: PLR0913, PLR0917 - what, where to, and in which form and language
    summary: Summary,
    manifest: Manifest,
    folder: Path,
    names: Iterable[str] = WRITTEN,
    spoken: Language = ENGLISH,
    requests: Sequence[CellRequests] = (),
) -> tuple[Path, ...]:
    """Write the named reports into ``folder`` and return the main file of each.

    Nothing is written unless every reporter succeeded, and no file is ever seen half-written.

    Raises:
        BadInput: ``report_unknown`` for a name that is not a reporter's, ``report_unwritable`` for a folder
            that cannot be written to.
    """
    made = [reporter(entry)(summary, manifest, spoken, requests) for entry in names]
    for files in made:
        for name, content in files.items():
            _write(folder / PurePosixPath(name), content)
    return tuple(folder / next(iter(files)) for files in made)


def say_where(written: Sequence[Path], console: Console, spoken: Language = ENGLISH) -> None:
    """Print where reports went."""
    for line in _wrote(written):
        console.print(Text(spoken.say(line)), soft_wrap=True)


def _wrote(written: Sequence[Path]) -> Iterable[str]:
    """Say where the last report is, which people open, and what lies beside it."""
    *others, last = written
    yield phrase("Wrote {path}", path=plain(str(last)))
    if others:
        yield phrase("beside it {others}", others=", ".join(other.name for other in others))


def _write(path: Path, content: bytes) -> None:
    partial = path.with_name(f".{path.name}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_bytes(content)
        os.replace(partial, path)  # noqa: PTH105 - the same call, named for its atomicity
    except OSError as error:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise BadInput(
            "report_unwritable",
            f"cannot write {path}: {error.strerror}",
            why="the run's folder is read-only, full, or belongs to somebody else",
            fix="copy the run to a folder you own and run `whichbits report` there",
        ) from error
