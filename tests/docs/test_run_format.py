"""docs/run-format.md names every column and key, and its recipe gives the summary's own number."""

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pandas as pd
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
from whichbits.analyze.summarize import summarize
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


def test_the_pandas_recipe_gives_the_median_ttft(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make_run(tmp_path)
    recipe = re.search(r"\*\*pandas\*\*\n\n```python\n(.*?)```", PAGE, re.DOTALL)
    assert recipe
    monkeypatch.chdir(folder)
    scope: dict[str, Any] = {"pandas": pd}
    exec(recipe[1], scope)  # noqa: S102 - the page's own lines

    expected = {cell.cell: cell.ttft_ms.p50 for cell in summarize(Run.load(folder)).cells}
    assert scope["median"].to_dict() == pytest.approx(expected)
