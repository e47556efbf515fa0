"""report.html: one offline page with the answer, its evidence, and where every number comes from."""

import base64
import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import vl_convert
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from whichbits.analyze.load_curves import HEADLINES, METRICS
from whichbits.analyze.summary import Recommendation, Summary
from whichbits.record.schema import Manifest
from whichbits.report import predictions, regimes
from whichbits.report.charts import Figure, chart, figures
from whichbits.report.measures import MEASURES, name_of
from whichbits.report.palette import Sign, signs
from whichbits.report.provenance import client_rows, commands, fact_rows, flat, study_yaml
from whichbits.report.series import Change, changes, line, points
from whichbits.report.table import groups, has_thin
from whichbits.report.wording import (
    FINDING_KINDS,
    LOAD_NAMES,
    MISSING,
    claim,
    count,
    crossing_text,
    grounds,
    leader_text,
    load_of,
    number,
    range_text,
    short_load,
    verdict_texts,
)


@dataclass(frozen=True)
class Segment:
    """A stretch of load in which one arm leads; ``share`` is its part of the (log) load axis, 0 to 1."""

    arm: str
    sign: Sign | None
    extent: str
    share: float


@dataclass(frozen=True)
class Answer:
    """The answer for one metric."""

    name: str
    text: str
    segments: tuple[Segment, ...]


@dataclass(frozen=True)
class Plate:
    """A chart on the page, with the same numbers as a table and in words."""

    figure: Figure
    specification: dict[str, Any]
    description: str
    changes: tuple[Change, ...]
    loads: tuple[str, ...]
    rows: dict[str, tuple[str, ...]]


def html(summary: Summary, manifest: Manifest) -> Mapping[str, bytes]:
    """Return ``report.html``; it loads nothing, and a policy in the page keeps it so."""
    script = _script()
    page = _environment().get_template("report.html.j2")
    text = page.render(
        summary=summary,
        manifest=manifest,
        answers=[_answer(entry, summary) for entry in summary.recommendation],
        plates=[_plate(summary, figure) for figure in figures(summary)],
        regimes=regimes.rows(summary),
        regimes_scope=regimes.scope(summary),
        predictions=predictions.rows(summary),
        predictions_legend=predictions.LEGEND,
        measures=MEASURES,
        compared={metric: name_of(metric) for metric in METRICS if metric in MEASURES or metric in HEADLINES},
        groups=groups(summary),
        thin=has_thin(summary),
        signs=signs(tuple(summary.arms)),
        kinds=FINDING_KINDS,
        arms=[(arm, fact_rows(arm, manifest.arms.get(name))) for name, arm in summary.arms.items()],
        clients=client_rows(summary, manifest),
        commands=commands(manifest),
        host=flat(manifest.host),
        tools=flat(dict(manifest.tools)),
        study=study_yaml(manifest),
        style=Markup(_asset("report.css")),  # noqa: S704 - our own file, no input in it
        script=Markup(script),  # noqa: S704 - our own file and the bundled library
        script_hash=_policy_hash(script),
    )
    return {"report.html": text.encode()}


def _answer(entry: Recommendation, summary: Summary) -> Answer:
    loads = [load for cell in summary.cells if (load := load_of(cell, summary.load_unit)) is not None]
    first, last = (min(loads), max(loads)) if loads else (1.0, 1.0)
    palette = signs(tuple(summary.arms))
    whole = math.log(last / first) or 1.0
    segments = tuple(
        Segment(
            arm=arm,
            sign=palette.get(arm),
            extent=range_text(low, high),
            share=math.log((high or last) / (low or first)) / whole,
        )
        for arm, low, high in entry.ranges
    )
    return Answer(name_of(entry.metric), claim(entry), segments)


def _plate(summary: Summary, figure: Figure) -> Plate:
    marks = points(summary, figure.measure)
    loads = sorted({mark.load for mark in marks})
    lines = {arm: dict(line(marks, arm)) for arm in summary.arms}
    turns = changes(summary, figure.measure)
    return Plate(
        figure=figure,
        specification=chart(summary, figure),
        description=_description(summary, figure, turns),
        changes=turns,
        loads=tuple(short_load(load) for load in loads),
        rows={arm: tuple(number(values.get(load)) for load in loads) for arm, values in lines.items()},
    )


def _description(summary: Summary, figure: Figure, turns: tuple[Change, ...]) -> str:
    subject = f"{figure.measure.name} in {figure.measure.unit} over {LOAD_NAMES[summary.load_unit]}"
    leads = "; ".join(f"{turn.after} takes over from {turn.before} at {short_load(turn.load)}" for turn in turns)
    return f"Line chart: {subject}, a line an arm. {leads + '. ' if leads else ''}Numbers: the table below."


@cache
def _script() -> str:
    """Bundle the page's script with Vega; costs about two seconds, hence once a process."""
    bundle: str = vl_convert.javascript_bundle(_asset("report.js"))
    # A literal end tag inside the bundle would end the element; in JavaScript the escape reads the same.
    return bundle.replace("</script", "<\\/script")


def _policy_hash(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _asset(name: str) -> str:
    return files("whichbits.report").joinpath("templates", name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("whichbits.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "number": number,
        "count": count,
        "crossing": crossing_text,
        "grounds": grounds,
        "load": short_load,
        "leader": leader_text,
        "verdicts": verdict_texts,
    }
    environment.globals |= {"MISSING": MISSING, "LOAD_NAMES": LOAD_NAMES}
    return environment
