"""report.md: the report for a pull request or a blog, its charts as SVG files beside it."""

import html
import re
from collections.abc import Iterable, Mapping, Sequence

import vl_convert

from whichbits.analyze.summary import Summary
from whichbits.record.schema import Manifest
from whichbits.report import cost
from whichbits.report.charts import Figure, chart, figures
from whichbits.report.cost import cost_headings, cost_rows
from whichbits.report.measures import MEASURES, headlines, name_of
from whichbits.report.provenance import client_rows, commands, fact_rows, flat, study_yaml
from whichbits.report.table import groups, has_thin
from whichbits.report.wording import (
    BEST_LEGEND,
    FINDING_KINDS,
    LOAD_NAMES,
    MISSING,
    THIN_LEGEND,
    claim,
    leader_text,
    plain,
    verdict_texts,
)

_PICTURE_WIDTH_PX = 560
_STEERING = re.compile(r"([\\`*_\[\]|#~])")


def markdown(summary: Summary, manifest: Manifest) -> Mapping[str, bytes]:
    """Return ``report.md`` and its ``figures/*.svg``."""
    shown = figures(summary)
    blocks = (
        *_answer(summary, manifest),
        *_pictures(shown),
        *_cells(summary),
        *_costs(summary),
        *_crossovers(summary),
        *_findings(summary),
        *_provenance(summary, manifest),
    )
    page = "\n\n".join(blocks) + "\n"
    return {"report.md": page.encode()} | {_file(figure): _svg(summary, figure) for figure in shown}


def escaped(text: str) -> str:
    """Return text that GitHub's Markdown shows as it is, on one line, inside a table or not."""
    one_line = " ".join(plain(text).split())
    return _STEERING.sub(r"\\\1", html.escape(one_line, quote=False))


def _answer(summary: Summary, manifest: Manifest) -> Iterable[str]:
    yield f"# {escaped(summary.study)}"
    arms = ", ".join(escaped(arm) for arm in summary.arms)
    yield f"{escaped(summary.source.capitalize())} {escaped(manifest.created)}. Arms: {arms}."
    if summary.interrupted:
        yield "**Interrupted**: only the cells that finished are shown."
    yield "## The answer"
    rows = [(name_of(entry.metric), escaped(claim(entry))) for entry in summary.recommendation]
    yield (_table(("metric", "serve"), rows) if rows else "Not enough to recommend an arm.")


def _pictures(shown: Sequence[Figure]) -> Iterable[str]:
    if shown:
        yield "## Evidence"
    for figure in shown:
        measure = figure.measure
        better = f", {measure.better} is better" if measure.better else ""
        yield f"**{measure.name}** ({measure.unit}{better}). {escaped(measure.meaning)}"
        yield f"![{measure.name} over load, a line an arm]({_file(figure)})"


def _cells(summary: Summary) -> Iterable[str]:
    yield f"## Every cell, by {LOAD_NAMES[summary.load_unit]}"
    headings = (
        "load",
        "arm",
        "requests",
        "failed",
        *(" ".join(m.heading) for m in MEASURES.values()),
        "client",
    )
    rows = [
        (
            escaped(row.load),
            escaped(row.name),
            str(row.cell.requests),
            str(row.cell.failed),
            *(_strong(escaped(value.text), strong=value.best) for value in row.values.values()),
            escaped(row.verdict),
        )
        for group in groups(summary)
        for row in group
    ]
    yield _table(headings, rows, numbers=range(2, len(headings) - 1))
    legend = [
        BEST_LEGEND.replace("*", "**bold**"),
        *([THIN_LEGEND.replace("~", r"\~")] if has_thin(summary) else []),
    ]
    yield "; ".join([*legend, f"{MISSING} not known", "TTFT, TPOT and ITL in ms"]) + "."


def _costs(summary: Summary) -> Iterable[str]:
    if rows := cost_rows(summary):
        yield f"## {cost.TITLE}"
        headings = [escaped(heading) for heading in cost_headings(summary)]
        yield _table(headings, [[escaped(part) for part in row] for row in rows], numbers=range(1, len(headings)))
        yield cost.LEGEND


def _crossovers(summary: Summary) -> Iterable[str]:
    rows = [
        (
            name_of(entry.metric),
            escaped(" / ".join(entry.arms)),
            escaped(", ".join(verdict_texts(entry))),
            escaped(leader_text(entry)),
            escaped(entry.note or ""),
        )
        for entry in headlines(summary)
    ]
    if rows:
        yield "## Where arms trade places"
        yield _table(("metric", "arms", "cross at load (interval)", "leader, low to high", "note"), rows)


def _findings(summary: Summary) -> Iterable[str]:
    if summary.findings:
        yield "## Findings"
    for kind, (title, _) in FINDING_KINDS.items():
        chosen = [finding for finding in summary.findings if finding.kind == kind]
        if chosen:
            yield f"### {title}"
        lines = []
        for finding in chosen:
            lines.append(f"- {escaped(finding.text)} ({escaped(finding.code)})")
            lines += [f"  - {escaped(evidence)}" for evidence in finding.evidence]
        if lines:
            yield "\n".join(lines)


def _provenance(summary: Summary, manifest: Manifest) -> Iterable[str]:
    yield "## The arms"
    facts = [
        (escaped(arm.arm), escaped(fact.name), escaped(fact.value), escaped(fact.line or fact.source))
        for name, arm in summary.arms.items()
        for fact in fact_rows(arm, manifest.arms.get(name))
    ]
    yield _table(("arm", "fact", "value", "from"), facts)
    yield "## Books and client"
    clients = [
        (
            escaped(row.arm),
            row.load,
            str(row.failed),
            escaped(row.errors),
            row.verdict,
            escaped("; ".join(row.remarks)),
        )
        for row in client_rows(summary, manifest)
    ]
    yield _table(("arm", "load", "failed", "errors", "client", "remarks"), clients)
    yield "## Provenance"
    known = flat(manifest.host) | flat(dict(manifest.tools))
    yield "\n".join(f"- {escaped(name)}: {escaped(value)}" for name, value in known.items())
    yield _fenced("sh", "\n".join(command.line for command in commands(manifest)))
    yield "To reproduce: save this as `study.yaml` and run `whichbits run study.yaml`."
    yield _fenced("yaml", study_yaml(manifest))


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]], numbers: range = range(0)) -> str:
    rule = ["---:" if place in numbers else "---" for place in range(len(headings))]
    return "\n".join(f"| {' | '.join(row)} |" for row in (headings, rule, *rows))


def _strong(text: str, *, strong: bool) -> str:
    return f"**{text}**" if strong else text


def _fenced(language: str, text: str) -> str:
    """Fence with more backticks than any run of them inside, so that the text cannot end it."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{plain(text).rstrip()}\n{fence}"


def _file(figure: Figure) -> str:
    return f"figures/{figure.name}.svg"


def _svg(summary: Summary, figure: Figure) -> bytes:
    # A picture in a README has no page behind it to follow: white paper serves both themes.
    specification = chart(summary, figure, width=_PICTURE_WIDTH_PX)
    specification["config"]["background"] = "white"
    svg: str = vl_convert.vegalite_to_svg(specification)
    return svg.encode()
