"""docs/run-format.md names every column and key, and its recipe gives the summary's own number."""

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from tests.docs.pages import keys, page, section
from tests.record.make_run import make_run
from whichbits.analyze.engine.telemetry import GpuTelemetry
from whichbits.analyze.kernels.kernel_time import (
    FamilyTime,
    Gaps,
    HostTime,
    KernelTime,
    KindTime,
    NameTime,
    StepTime,
)
from whichbits.analyze.kernels.profile import Profile
from whichbits.analyze.quality.measures import (
    ArmQuality,
    Distance,
    FreeAnswers,
    Noise,
    Quality,
    Speed,
    TaskQuality,
    TradeOff,
    Valued,
    WorstPosition,
)
from whichbits.analyze.summarize import summarize, summary_json
from whichbits.analyze.summary import (
    ArmSummary,
    CellSummary,
    Crossing,
    Crossover,
    Distribution,
    EngineLevel,
    EngineTimes,
    Estimate,
    Finding,
    ReplicaSummary,
    Summary,
)
from whichbits.analyze.summary.verdicts import Answer, Regime, ScoredPrediction
from whichbits.quality import store
from whichbits.record import telemetry
from whichbits.record.columns import SCHEMA
from whichbits.record.run import Run
from whichbits.record.schema import Manifest
from whichbits.record.scrapes import Scrape

PAGE = page("run-format.md")


def written(column: "pa.Field[Any]") -> str:
    """A column's type as the page writes it."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    word = f"list of {kind.value_type}" if pa.types.is_list(kind) else str(kind)
    return f"{word}, nullable" if column.nullable else word


def test_every_column_stands_with_its_type() -> None:
    rows = re.findall(r"^\| `(\w+)` \| ([^|]+) \|", section(PAGE, "requests.parquet"), re.MULTILINE)

    assert rows == [(column.name, written(column)) for column in SCHEMA]


def test_every_key_of_the_manifest_stands_in_its_order() -> None:
    assert keys(section(PAGE, "run.json")) == [field.name for field in fields(Manifest)]


KINDS = (Summary, ArmSummary, CellSummary, Distribution, Crossover, Crossing, Finding)
KINDS_OF_ENGINES = (ReplicaSummary, EngineTimes, Estimate, EngineLevel, GpuTelemetry)
KINDS_OF_PROFILES = (Profile, KernelTime, KindTime, FamilyTime, NameTime, Gaps, HostTime, StepTime)
KINDS_OF_ANSWERS = (ScoredPrediction, Answer, Regime)
KINDS_OF_QUALITY = (
    *(Quality, Noise, ArmQuality, Distance, WorstPosition, FreeAnswers, TaskQuality, TradeOff, Speed, Valued),
)


@pytest.mark.parametrize("kind", [*KINDS, *KINDS_OF_ANSWERS, *KINDS_OF_ENGINES, *KINDS_OF_QUALITY])
def test_every_key_of_the_summary_is_named(kind: type[Any]) -> None:
    named = set(re.findall(r"`(\w+)`", section(PAGE, "summary.json")))

    assert {field.name for field in fields(kind)} <= named


@pytest.mark.parametrize("kind", KINDS_OF_PROFILES)
def test_every_key_of_a_profile_is_named(kind: type[Any]) -> None:
    named = set(re.findall(r"`(\w+)`", section(PAGE, "profiles/")))

    assert {field.name for field in fields(kind)} <= named


def test_every_column_of_the_telemetry_stands_with_its_type() -> None:
    rows = re.findall(r"^\| `(\w+)` \| ([^|]+) \|", section(PAGE, "telemetry.parquet"), re.MULTILINE)

    assert rows == [(column.name, written(column)) for column in telemetry.SCHEMA]


def test_every_column_of_the_quality_files_stands_with_its_type() -> None:
    rows = re.findall(r"^\| `(\w+)` \| ([^|]+) \|", section(PAGE, "quality/"), re.MULTILINE)

    assert rows == [(column.name, written(column)) for schema in (store.TOKENS, store.ANSWERS) for column in schema]


def test_every_key_of_a_scrape_is_named() -> None:
    named = set(re.findall(r"`(\w+)`", section(PAGE, "scrapes/")))

    assert {field.name for field in fields(Scrape)} <= named


def recipe(before: str, language: str) -> str:
    """The first block of ``language`` after a text of the page."""
    found = re.search(rf"{re.escape(before)}.*?```{language}\n(.*?)```", PAGE, re.DOTALL)
    assert found
    return found[1]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run with its summary, entered."""
    made = make_run(tmp_path)
    (made / "summary.json").write_bytes(summary_json(summarize(Run.load(made))))
    monkeypatch.chdir(made)
    return made


def median_ttft(folder: Path) -> dict[int, float | None]:
    return {cell.cell: cell.ttft_ms.p50 for cell in summarize(Run.load(folder)).cells}


def test_the_pandas_recipe_gives_the_median_ttft(folder: Path) -> None:
    scope: dict[str, Any] = {}
    exec(recipe("**pandas**", "python"), scope)  # noqa: S102 - the page's own lines

    assert scope["median"].to_dict() == pytest.approx(median_ttft(folder))


def test_the_polars_recipe_gives_the_median_ttft(folder: Path) -> None:
    scope: dict[str, Any] = {}
    exec(recipe("**polars**", "python"), scope)  # noqa: S102 - the page's own lines

    assert dict(scope["median"].iter_rows()) == pytest.approx(median_ttft(folder))


def test_the_duckdb_recipe_gives_the_median_ttft(folder: Path) -> None:
    assert dict(duckdb.connect().execute(recipe("**DuckDB**", "sql")).fetchall()) == pytest.approx(median_ttft(folder))


def test_duckdb_reads_the_summary(folder: Path) -> None:
    rows = duckdb.connect().execute(recipe("DuckDB reads as well", "sql")).fetchall()

    # 12 * load**0.1 against 6 * load**0.35, at one stream.
    assert [row[:3] for row in rows if row[1] == 1] == [("bf16", 1, pytest.approx(12)), ("w4a16", 1, pytest.approx(6))]


def test_the_scrapes_recipe_reads_each_page(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder.parent / "runs").mkdir()
    folder.rename(folder.parent / "runs" / "2026-11-29T1404-mine")
    monkeypatch.chdir(folder.parent)
    scope: dict[str, Any] = {}
    exec(recipe("## scrapes/", "python"), scope)  # noqa: S102 - the page's own lines

    assert scope["run"].manifest.name == "synthetic"
