"""Writing reports: all or nothing, no partial file, and the paths are said."""

import io
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from tests.report.make_summary import explained, make_manifest, make_summary, repeated
from whichbits.analyze.summary import Summary
from whichbits.errors import BadInput
from whichbits.language.language import ENGLISH
from whichbits.report import reporters
from whichbits.report.error import print_error
from whichbits.report.reporters import say_where, write_reports


def console() -> Console:
    return Console(file=io.StringIO(), width=80)


def test_summary_json_reads_back_as_the_summary(tmp_path: Path) -> None:
    summary = make_summary()

    (path,) = write_reports(summary, make_manifest(), tmp_path, ["json"])

    assert msgspec.json.decode(path.read_bytes(), type=Summary) == summary


def test_writing_says_where_each_report_went(tmp_path: Path) -> None:
    said = console()

    written = write_reports(make_summary(), make_manifest(), tmp_path, ["json", "terminal"])
    say_where(written, said)

    assert isinstance(said.file, io.StringIO)
    assert said.file.getvalue().splitlines() == [f"Wrote {written[-1]}", "beside it summary.json"]
    assert sorted(tmp_path.iterdir()) == sorted(written)


def test_a_reporter_that_fails_leaves_the_folder_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(reporters.REPORTERS, "broken", f"{__name__}:broken")
    (tmp_path / "summary.json").write_text("earlier")

    with pytest.raises(ZeroDivisionError):
        write_reports(make_summary(), make_manifest(), tmp_path, ["json", "broken"])

    assert [path.name for path in tmp_path.iterdir()] == ["summary.json"]
    assert (tmp_path / "summary.json").read_text() == "earlier"


def broken(*_: object) -> dict[str, bytes]:
    raise ZeroDivisionError


def test_a_folder_that_cannot_be_written_is_explained(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file, not a folder")

    with pytest.raises(BadInput) as raised:
        write_reports(make_summary(), make_manifest(), tmp_path / "taken", ["json"])

    assert raised.value.code == "report_unwritable"


def test_an_unknown_reporter_names_those_there_are() -> None:
    with pytest.raises(BadInput, match="no reporter named 'pdf'") as raised:
        reporters.reporter("pdf")

    assert all(name in raised.value.fix for name in reporters.REPORTERS)


def test_an_error_shows_what_why_do_and_code_within_80_columns() -> None:
    shown = console()

    print_error(BadInput("a.code", "what [b]happened", why="why " * 40, fix="do this"), shown)

    assert isinstance(shown.file, io.StringIO)
    lines = shown.file.getvalue().splitlines()
    assert [line.split()[0] for line in lines if line[0] != " "] == ["error", "why", "do", "code"]
    assert "what [b]happened" in lines[0]
    assert max(map(len, lines)) <= 80


WHOLE = explained(make_summary())
ODD = {
    "no cells": replace(WHOLE, cells=()),
    "no arms": replace(WHOLE, cells=(), arms={}),
    "one cell": replace(WHOLE, cells=WHOLE.cells[:1]),
    "nothing to say": replace(WHOLE, recommendation=(), crossovers=(), findings=()),
    "unlimited rate": replace(
        WHOLE, load_unit="request_rate", cells=tuple(replace(cell, request_rate=float("inf")) for cell in WHOLE.cells)
    ),
    "no throughput": replace(
        WHOLE, cells=tuple(replace(cell, output_tokens_per_s=0.0, mean_batch=0.0) for cell in WHOLE.cells)
    ),
    "not run": replace(WHOLE, cells=tuple(replace(cell, state="planned") for cell in WHOLE.cells)),
    "three repeats": repeated(WHOLE, (1.0, 1.2, 0.8)),
}


@pytest.mark.parametrize("name", reporters.REPORTERS)
@pytest.mark.parametrize("summary", ODD.values(), ids=ODD)
def test_any_summary_has_a_report(summary: Summary, name: str) -> None:
    files = reporters.reporter(name)(summary, make_manifest(), ENGLISH)

    assert all(files.values())


def test_a_path_in_an_error_is_never_broken_across_lines() -> None:
    shown, path = console(), "/data/runs/" + "a-long-folder-name/" * 6 + "study.yaml"

    print_error(BadInput("a.code", f"cannot read {path}: no such file", why="w", fix=f"look into {path}"), shown)

    assert isinstance(shown.file, io.StringIO)
    assert shown.file.getvalue().count(path) == 2
