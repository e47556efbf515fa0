"""report.md: the report for a pull request or a blog, its charts as SVG files beside it."""

import html
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from whichbits.analyze.summary import Finding, Summary
from whichbits.record.schema import Manifest
from whichbits.report import cost, predictions, regimes
from whichbits.report.cost import cost_headings, cost_rows
from whichbits.report.figures import Figure, description, figures, thin_text
from whichbits.report.measures import MEASURES, headlines, name_of
from whichbits.report.plots.over_load import over_load
from whichbits.report.plots.svg import standalone
from whichbits.report.plots.under_roof import under_roof
from whichbits.report.pooled import repeats
from whichbits.report.provenance import client_rows, commands, flat, study_yaml
from whichbits.report.series import changes
from whichbits.report.sheets import Sheet, at_a_glance, causes, comparisons, courses, quality
from whichbits.report.sheets.quality import sentences
from whichbits.report.table import Row, groups, has_thin
from whichbits.report.validity import answer_text, doubts, loads_text
from whichbits.report.wording import (
    BEST_LEGEND,
    FINDING_KINDS,
    LOAD_NAMES,
    MISSING,
    THIN_LEGEND,
    grounds,
    interruption,
    leader_text,
    plain,
    resume_command,
    verdict_texts,
)

_STEERING = re.compile(r"([\\`*_\[\]|#~])")
_ROOFLINE = "figures/roofline.svg"


def markdown(summary: Summary, manifest: Manifest) -> Mapping[str, bytes]:
    """Return ``report.md`` and its ``figures/*.svg``."""
    shown = figures(summary)
    pictures = {_file(figure): _picture(summary, figure) for figure in shown}
    if roofline := under_roof(summary, "Roofline"):
        pictures[_ROOFLINE] = standalone(roofline).encode()
    blocks = (
        *_answer(summary, manifest),
        *regimes.markdown(summary, escaped),
        *predictions.markdown(summary, escaped),
        *_pictures(summary, shown),
        *_cells(summary),
        *_costs(summary),
        *_crossovers(summary),
        *(block for sheet in comparisons(summary, manifest) for block in _sheet(sheet)),
        *_quality(summary, manifest),
        *_causes(summary, manifest, has_roofline=_ROOFLINE in pictures),
        *_findings(summary),
        *_provenance(summary, manifest),
    )
    return {"report.md": ("\n\n".join(blocks) + "\n").encode()} | pictures


def escaped(text: str) -> str:
    """Return text that GitHub's Markdown shows as it is, on one line, inside a table or not."""
    one_line = " ".join(plain(text).split())
    return _STEERING.sub(r"\\\1", html.escape(one_line, quote=False))


def _answer(summary: Summary, manifest: Manifest) -> Iterable[str]:
    yield f"# {escaped(summary.study)}"
    arms = ", ".join(escaped(arm) for arm in summary.arms)
    yield f"{escaped(summary.source.capitalize())} {escaped(manifest.created)}. Arms: {arms}."
    if summary.interrupted:
        yield f"**Interrupted**: {interruption(summary)}. To go on: `{plain(resume_command(summary))}`."
    yield "## The answer"
    if not summary.recommendation:
        yield "Not enough to recommend an arm."
        return
    yield f"By {LOAD_NAMES[summary.load_unit]}, measured at {loads_text(summary)}."
    rows = [
        (
            name_of(entry.metric),
            escaped(answer_text(entry)),
            escaped("; ".join(doubts(entry, summary, beside_text=True))) or "none",
        )
        for entry in summary.recommendation
    ]
    yield _table(("metric", "serve", "doubts"), rows)


def _pictures(summary: Summary, shown: Sequence[Figure]) -> Iterable[str]:
    if shown:
        yield "## Curves over load"
        yield "Bands are 95 % intervals; dashed rules mark where the lead changes, shaded where either may be better."
    for figure in shown:
        measure = figure.measure
        better = f", {measure.better} is better" if measure.better else ""
        thin = thin_text(summary, measure)
        yield f"**{measure.name}** ({measure.unit}{better}). {escaped(f'{measure.meaning} {thin}')}"
        yield f"![{measure.name} over load, a line an arm]({_file(figure)})"


def _cells(summary: Summary) -> Iterable[str]:
    yield f"## Every arm by {LOAD_NAMES[summary.load_unit]}"
    headings = ("load", "arm", "sent", "failed", *(" ".join(m.heading) for m in MEASURES.values()), "client")
    rows = [_row(row) for group in groups(summary) for row in group]
    yield _table(headings, rows, numbers=range(2, len(headings) - 1))
    apart = f"medians of {repeats(summary)} repeats, ± half their range from half a percent on"
    legend = [
        BEST_LEGEND.replace("*", "**bold**"),
        *([THIN_LEGEND.replace("~", r"\~")] if has_thin(summary) else []),
        *([apart] if repeats(summary) > 1 else []),
    ]
    yield "; ".join([*legend, f"{MISSING} not known", "TTFT, TPOT and ITL in ms"]) + "."


def _row(row: Row) -> tuple[str, ...]:
    return (
        escaped(row.load),
        escaped(row.arm),
        str(row.requests),
        str(row.failed),
        *(
            f"{_strong(escaped(value.text), strong=value.best)} {value.spread_text}".rstrip()
            for value in row.values.values()
        ),
        escaped(row.verdict),
    )


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
    for kind, (title, meaning) in FINDING_KINDS.items():
        chosen = [finding for finding in summary.findings if finding.kind == kind]
        if chosen:
            yield f"### {title}"
            yield meaning
            yield "\n".join(line for finding in chosen for line in _finding(finding))


def _finding(finding: Finding) -> Iterator[str]:
    yield f"- {escaped(finding.text)} ({escaped(finding.code)})"
    if evidence := grounds(finding):
        # Within such a block GitHub reads HTML, and Markdown is not.
        lines = "<br>".join(html.escape(" ".join(plain(each).split())) for each in evidence)
        yield f"  <details><summary>Evidence ({len(evidence)})</summary>{lines}</details>\n"


def _causes(summary: Summary, manifest: Manifest, *, has_roofline: bool) -> Iterable[str]:
    shown = causes(summary, manifest)
    if shown or has_roofline:
        yield "## Why"
    if has_roofline:
        yield (
            "**Under the roof** (TFLOP/s of decode steps over FLOP per byte). Filled marks count the bytes really "
            "read, hollow ones the weights loaded."
        )
        yield f"![Roofline, a line an arm]({_ROOFLINE})"
    for sheet in shown:
        yield from _sheet(sheet)


def _quality(summary: Summary, manifest: Manifest) -> Iterable[str]:
    if summary.quality is not None:
        yield "## What the bits cost in answers"
        yield "\n".join(f"- {escaped(sentence)}" for sentence in sentences(summary))
        for sheet in quality(summary, manifest):
            yield from _sheet(sheet)


def _sheet(sheet: Sheet) -> Iterable[str]:
    yield f"### {sheet.title}"
    yield escaped(sheet.meaning)
    yield _table(
        tuple(map(escaped, sheet.headings)),
        [tuple(map(escaped, row)) for row in sheet.rows],
        numbers=range(sheet.words, len(sheet.headings)),
    )


def _provenance(summary: Summary, manifest: Manifest) -> Iterable[str]:
    yield "## The arms"
    yield from list(_sheet(at_a_glance(summary, manifest)))[1:]
    yield "Every fact, with the line that says so, is in `report.html` and `run.json`."
    yield "## Books and client"
    clients = [
        (
            escaped(row.arm),
            escaped(f"{row.load} #{row.repeat}" if repeats(summary) > 1 else row.load),
            str(row.failed),
            escaped(row.errors),
            row.verdict,
            escaped("; ".join(row.remarks)),
        )
        for row in client_rows(summary, manifest)
    ]
    yield _table(("arm", "load", "failed", "errors", "client", "remarks"), clients)
    for sheet in courses(summary, manifest):
        yield from _sheet(sheet)
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


def _picture(summary: Summary, figure: Figure) -> bytes:
    said = description(summary, figure, changes(summary, figure.measure))
    return standalone(over_load(summary, figure, said)).encode()
