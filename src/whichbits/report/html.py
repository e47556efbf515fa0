"""report.html: one offline page with the answer, its evidence, and where every number comes from."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import groupby, zip_longest
from operator import itemgetter

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from whichbits.analyze import amounts
from whichbits.analyze.curves.load_curves import HEADLINES, METRICS
from whichbits.analyze.latency.request_timelines import CellRequests
from whichbits.analyze.summary import Summary
from whichbits.analyze.summary.source import SOURCES
from whichbits.language.amounts import amount
from whichbits.language.language import ENGLISH, Code, Language, language
from whichbits.language.phrase import Phrase, joined, phrase
from whichbits.language.recognition import recognise
from whichbits.record.schema import Manifest
from whichbits.report.answer import predictions, regimes
from whichbits.report.answer.lead import checks, lead, unknowns
from whichbits.report.answer.predicted import banner, is_predicted
from whichbits.report.answer.stretches import answers
from whichbits.report.answer.validity import measured_loads, scope_text
from whichbits.report.cells.measures import BETTER, MEASURES, name_of
from whichbits.report.cells.pooled import repeats, repeats_text
from whichbits.report.cells.table import groups, has_thin
from whichbits.report.coded import coded
from whichbits.report.palette import signs
from whichbits.report.plots.figures import Figure, description, figures, thin_text
from whichbits.report.plots.over_load import over_load
from whichbits.report.plots.request_rows import paths, ticks
from whichbits.report.plots.series import changes, points, typical
from whichbits.report.plots.timelines import FIELDS, LEGEND, Timeline, timeline
from whichbits.report.plots.under_roof import under_roof
from whichbits.report.policy import POLICY, SCRIPT
from whichbits.report.provenance import client_rows, commands, fact_rows, flat, study_yaml
from whichbits.report.sheets import at_a_glance, causes, comparisons, courses, quality
from whichbits.report.sheets.every_arm import every_arm
from whichbits.report.sheets.quality import sentences
from whichbits.report.shown import MOST_POINTS, Shown, shown
from whichbits.report.wording import (
    FINDING_KINDS,
    LOAD_NAMES,
    MISSING,
    count,
    crossing_text,
    grounds,
    grounds_count,
    interruption,
    leader_text,
    moment,
    number,
    plain,
    resume_command,
    resumptions,
    short_load,
    verdict_texts,
)

ROOFLINE_WORDS = phrase(
    "Roofline: TFLOP/s that decode steps attain over their FLOP per byte, a line an arm, under the peaks of the "
    "device. Numbers: the table below."
)


MOST_BYTES = 2_400_000
"""What a page may have: below 2.5 MB it can be attached and mailed."""

SIZES = (
    *((MOST_POINTS, rows) for rows in (1_000_000, 1000, 300, 100)),
    *((MOST_POINTS // 4, rows) for rows in (100, 30, 10)),
    (MOST_POINTS // 16, 10),
)
"""Points of a chart and rows of a table that are tried, until the page is small enough: all rows, where they fit."""


@dataclass(frozen=True)
class Plate:
    """A chart on the page, with the same numbers as a table."""

    figure: Figure
    picture: Markup
    thin: str
    loads: tuple[str, ...]
    rows: dict[str, tuple[str, ...]]


def html(
    summary: Summary, manifest: Manifest, spoken: Language = ENGLISH, requests: Sequence[CellRequests] = ()
) -> Mapping[str, bytes]:
    """Return ``report.html``; it loads nothing and runs only its own script, and a policy in the page keeps it so.

    Of a very large run it draws a part, by a rule that it tells, and then cuts tables and draws fewer loads until the
    page stays below ``MOST_BYTES``. What is said is said of the whole run.
    """
    page = _environment(spoken.code).get_template("report.html.j2")
    said, text = _said(summary, manifest, spoken), b""
    for most_points, several in groupby(SIZES, key=itemgetter(0)):
        drawn = _drawn(shown(summary, manifest, requests, most_points), len(summary.cells), spoken)
        for _, most_rows in several:
            text = plain(page.render(said | drawn, most_rows=most_rows)).encode()
            if len(text) <= MOST_BYTES:
                return {"report.html": text}
    return {"report.html": text}


def _said(summary: Summary, manifest: Manifest, spoken: Language) -> dict[str, object]:
    return {
        "language": spoken.code,
        "source": SOURCES[summary.source].titled(),
        "source_in_text": SOURCES[summary.source],
        "summary": summary,
        "manifest": manifest,
        "interruption": interruption(summary),
        "resume": resume_command(summary),
        "resumed": resumptions(manifest),
        "several_loads": len(measured_loads(summary)) > 1,
        "repeats": repeats(summary),
        "repeats_text": repeats_text(summary),
        "answers": answers(summary),
        "policy": POLICY,
        "regimes": regimes.rows(summary),
        "regimes_scope": regimes.scope(summary)[:2],
        "lead": lead(summary),
        "banner": banner(summary) if is_predicted(summary) else None,
        "scope": scope_text(summary),
        "checks": checks(summary, spoken.say),
        "unknowns": unknowns(summary, spoken.say),
        "predictions": predictions.rows(summary),
        "predictions_legend": predictions.LEGEND,
        "kinds": FINDING_KINDS,
        "every_arm": every_arm(summary),
        "host": flat(manifest.host),
        "tools": flat(dict(manifest.tools)),
        "study": study_yaml(manifest).split("\n"),
        "style": Markup(_asset("report.css")),  # noqa: S704 - our own file, no input in it
    }


def _drawn(drawn: Shown, cells: int, spoken: Language) -> dict[str, object]:
    summary, manifest = drawn.summary, drawn.manifest
    roofline = under_roof(summary, ROOFLINE_WORDS, spoken.say)
    return {
        "rules": drawn.rules,
        "plates": [_plate(summary, figure, spoken) for figure in figures(summary)],
        "roofline": None if roofline is None else Markup(roofline),  # noqa: S704 - escaped where it is drawn
        **_requests(timeline(drawn.requests, cells), drawn.requests),
        "crossovers": summary.crossovers,
        "measures": MEASURES,
        "compared": {metric: name_of(metric) for metric in METRICS if metric in MEASURES or metric in HEADLINES},
        "groups": groups(summary),
        "thin": has_thin(summary),
        "signs": signs(tuple(summary.arms)),
        "comparisons": comparisons(summary, manifest),
        "causes": causes(summary, manifest),
        "quality": quality(summary, manifest),
        "quality_sentences": tuple(sentences(summary)),
        "glance": at_a_glance(summary, manifest),
        "arms": [(arm, fact_rows(arm, manifest.arms.get(name))) for name, arm in summary.arms.items()],
        "clients": client_rows(summary, manifest),
        "courses": courses(summary, manifest),
        "commands": commands(manifest),
    }


def _requests(shown: Timeline | None, requests: Sequence[CellRequests]) -> dict[str, object]:
    """Return what the timeline's template shows: nothing, or the first cell drawn, and the script that draws others."""
    if shown is None:
        return {"timeline": None}
    first = requests[shown.first].requests
    return {
        "timeline": shown,
        "timeline_count": len(first),
        "timeline_paths": paths(first),
        "timeline_ticks": ticks(first),
        "timeline_fields": FIELDS,
        "timeline_legend": LEGEND,
        "script": Markup(SCRIPT),  # noqa: S704 - our own file, no input in it
    }


def _plate(summary: Summary, figure: Figure, spoken: Language) -> Plate:
    marks = points(summary, figure.measure)
    loads = sorted({mark.load for mark in marks})
    lines = {arm: {point.load: point.value for point in typical(marks, arm)} for arm in summary.arms}
    said = description(summary, figure, changes(summary, figure.measure))
    return Plate(
        figure=figure,
        picture=Markup(over_load(summary, figure, said, spoken.say)),  # noqa: S704 - escaped where it is drawn
        thin=thin_text(summary, figure.measure),
        loads=tuple(short_load(load) for load in loads),
        rows={arm: tuple(number(values.get(load)) for load in loads) for arm, values in lines.items()},
    )


def _told_once(rows: Sequence[object], name: str) -> list[tuple[object, object]]:
    """Return each row with what it remarks, or with None where the next row remarks the same."""
    remarks = [getattr(row, name) for row in rows]
    # The last row has nothing behind it that could say the same.
    following = zip_longest(remarks, remarks[1:])
    return [(row, None if said == then else said) for row, (said, then) in zip(rows, following, strict=True)]


def _asset(name: str) -> str:
    return files("whichbits.report").joinpath("templates", name).read_text(encoding="utf-8")


@cache
def _environment(code: Code) -> Environment:
    """Return the templates; whatever they show is said in the language, and then escaped."""
    spoken = language(code)

    environment = Environment(
        loader=PackageLoader("whichbits.report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: spoken.say(value) if isinstance(value, Phrase) else value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "number": number,
        "recognised": recognise,
        "count": count,
        "crossing": crossing_text,
        "grounds": grounds,
        "grounds_count": grounds_count,
        "load": short_load,
        "moment": moment,
        "coded": lambda text: coded(spoken.say(text)),
        "leader": leader_text,
        "told_once": _told_once,
        "verdicts": verdict_texts,
    }
    environment.globals |= {
        "MISSING": MISSING,
        "LOAD_NAMES": LOAD_NAMES,
        "BETTER": BETTER,
        "amounts": amounts,
        "amount": amount,
        "say": _sayer(spoken),
        "joined": joined,
    }
    return environment


def _sayer(spoken: Language) -> Callable[..., Markup]:
    """Return what templates say sentences with: their own markup stays, what stands in their fields is escaped."""

    def say(template: str, **fields: object) -> Markup:
        return Markup(spoken.filled(template, fields, lambda text: str(escape(text))))  # noqa: S704 - escaped here

    return say
