"""report.md: the report for a pull request or a blog, its charts as SVG files beside it."""

import html
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from whichbits.analyze.latency.request_timelines import CellRequests
from whichbits.analyze.summary import Finding, Summary
from whichbits.language.language import ENGLISH, Language, Say
from whichbits.language.phrase import joined, phrase
from whichbits.record.schema import Manifest
from whichbits.report.answer import cost, predicted, predictions, regimes
from whichbits.report.answer.cost import cost_headings, cost_rows
from whichbits.report.answer.lead import lead
from whichbits.report.answer.validity import answer_text, doubts, scope_text
from whichbits.report.cells.measures import BETTER, MEASURES, headlines, name_of
from whichbits.report.cells.pooled import repeats
from whichbits.report.cells.table import Row, groups, has_spread, has_thin
from whichbits.report.plots.figures import Figure, description, figures, thin_text
from whichbits.report.plots.over_load import over_load
from whichbits.report.plots.series import changes
from whichbits.report.plots.svg import standalone
from whichbits.report.plots.under_roof import under_roof
from whichbits.report.provenance import client_rows, commands, flat, study_yaml
from whichbits.report.sheets import Sheet, at_a_glance, causes, comparisons, courses, quality
from whichbits.report.sheets.quality import sentences
from whichbits.report.wording import (
    FINDING_KINDS,
    LOAD_NAMES,
    MISSING,
    SOURCES,
    THIN_LEGEND,
    grounds,
    grounds_count,
    interruption,
    leader_text,
    moment,
    plain,
    resume_command,
    resumptions,
    verdict_texts,
)

_STEERING = re.compile(r"([\\`*_\[\]|#~])")
_CODE = re.compile(r"(`[\w.:=/ -]+`)")
"""What stands between backticks, if nothing in it could mean anything to Markdown or HTML."""
_ROOFLINE = "figures/roofline.svg"


def markdown(
    summary: Summary,
    manifest: Manifest,
    spoken: Language = ENGLISH,
    requests: Sequence[CellRequests] = (),  # noqa: ARG001 - a Reporter
) -> Mapping[str, bytes]:
    """Return ``report.md`` and its ``figures/*.svg``."""
    say, shown = spoken.say, figures(summary)
    pictures = {_file(figure): _picture(summary, figure, say) for figure in shown}
    if roofline := under_roof(summary, phrase("Roofline"), say):
        pictures[_ROOFLINE] = standalone(roofline, "TFLOP/s").encode()
    blocks = (
        *_answer(summary, manifest, say),
        *_by_metric(summary, say),
        *predictions.markdown(summary, say, escaped),
        *_pictures(summary, shown, say),
        *_cells(summary, say),
        *_intervals(summary, say),
        *_costs(summary, say),
        *_crossovers(summary, say),
        *(block for sheet in comparisons(summary, manifest) for block in _sheet(sheet, say)),
        *_quality(summary, manifest, say),
        *_causes(summary, manifest, say, has_roofline=_ROOFLINE in pictures),
        *_findings(summary, say),
        *_provenance(summary, manifest, say),
    )
    return {"report.md": ("\n\n".join(blocks) + "\n").encode()} | pictures


def escaped(text: str) -> str:
    """Return text that GitHub's Markdown shows as it is, on one line, inside a table or not."""
    parts = _CODE.split(" ".join(plain(text).split()))
    return "".join(part if place % 2 else _harmless(part) for place, part in enumerate(parts))


def _harmless(text: str) -> str:
    return _STEERING.sub(r"\\\1", html.escape(text, quote=False))


def _answer(summary: Summary, manifest: Manifest, say: Say) -> Iterable[str]:
    yield f"# {escaped(summary.study)}"
    arms, source = joined(", ", summary.arms), SOURCES[summary.source]
    said = phrase("{source} {created}. Arms: {arms}.", source=source, created=moment(manifest.created), arms=arms)
    yield escaped(say(said))
    if resumed := resumptions(manifest):
        yield escaped(say(resumed))
    if predicted.is_predicted(summary):
        yield f"**{escaped(say(predicted.banner(summary)))}**"
    if summary.interrupted:
        stopped = say(phrase("**Interrupted**: {interruption}. To go on:", interruption=interruption(summary)))
        yield f"{stopped} `{plain(resume_command(summary))}`."
    yield f"## {say(phrase('The answer'))}"
    if told := lead(summary):
        yield f"**{escaped(say(told.serve))}** {escaped(say(told.more))}"
    if not summary.recommendation:
        yield say(phrase("Not enough to recommend an arm."))
    yield from regimes.markdown(summary, say, escaped)


def _by_metric(summary: Summary, say: Say) -> Iterable[str]:
    if not summary.recommendation:
        return
    yield say(phrase("By {scope}.", scope=scope_text(summary)))
    rows = [
        (
            say(name_of(entry.metric)),
            escaped(say(answer_text(entry, summary))),
            escaped(say(joined("; ", doubts(entry, summary, beside_text=True)) or phrase("none"))),
        )
        for entry in summary.recommendation
    ]
    yield _table(tuple(map(say, (phrase("metric"), phrase("serve"), phrase("doubts")))), rows)


def _pictures(summary: Summary, shown: Sequence[Figure], say: Say) -> Iterable[str]:
    if shown:
        yield f"## {say(phrase('Curves over load'))}"
        yield say(
            phrase(
                "Bands are 95 % intervals; dashed rules mark where the lead changes, shaded where either may be better."
            )
        )
    for figure in shown:
        measure = figure.measure
        better = f", {say(BETTER[measure.better])}" if measure.better else ""
        meaning = say(joined(" ", (measure.meaning, thin_text(summary, measure))))
        yield f"**{say(measure.name)}** ({say(measure.unit)}{better}). {escaped(meaning)}"
        yield f"![{say(phrase('{name} over load, a line an arm', name=measure.name))}]({_file(figure)})"


def _intervals(summary: Summary, say: Say) -> Iterable[str]:
    if predicted.is_predicted(summary) and (rows := predicted.interval_rows(summary)):
        yield f"### {say(predicted.TITLE)}"
        yield f"{say(predicted.UNITS)}."
        yield _table(tuple(map(say, predicted.HEADINGS)), [tuple(escaped(say(cell)) for cell in row) for row in rows])


def _cells(summary: Summary, say: Say) -> Iterable[str]:
    yield f"## {say(phrase('Every arm by {load}', load=LOAD_NAMES[summary.load_unit]))}"
    measures = (joined(" ", measure.heading) for measure in MEASURES.values())
    headings = (phrase("load"), phrase("arm"), phrase("sent"), phrase("failed"), *measures, phrase("client"))
    rows = [_row(row, say) for group in groups(summary) for row in group]
    yield _table(tuple(map(say, headings)), rows, numbers=range(2, len(headings) - 1))
    apart = phrase("medians of {repeats} repeats, ± half their range from half a percent on", repeats=repeats(summary))
    legend = [
        say(phrase("**bold** best of the load")),
        *([say(THIN_LEGEND).replace("~", r"\~")] if has_thin(summary) else []),
        *([say(apart)] if has_spread(summary) else []),
        say(phrase("{missing} not known", missing=MISSING)),
        say(phrase("TTFT, TPOT and ITL in ms")),
    ]
    yield "; ".join(legend) + "."


def _row(row: Row, say: Say) -> tuple[str, ...]:
    return (
        escaped(row.load),
        escaped(row.arm),
        str(row.requests),
        str(row.failed),
        *(
            f"{_strong(escaped(value.text), strong=value.best)} {value.spread_text}".rstrip()
            for value in row.values.values()
        ),
        escaped(say(row.verdict)),
    )


def _costs(summary: Summary, say: Say) -> Iterable[str]:
    if rows := cost_rows(summary):
        yield f"## {say(cost.TITLE)}"
        headings = [escaped(say(heading)) for heading in cost_headings(summary)]
        yield _table(headings, [[escaped(say(part)) for part in row] for row in rows], numbers=range(1, len(headings)))
        yield say(cost.LEGEND)


def _crossovers(summary: Summary, say: Say) -> Iterable[str]:
    rows = [
        (
            say(name_of(entry.metric)),
            escaped(" / ".join(entry.arms)),
            escaped(say(joined(", ", verdict_texts(entry)))),
            escaped(say(leader_text(entry))),
            escaped(say(entry.note or "")),
        )
        for entry in headlines(summary)
    ]
    if rows:
        yield f"## {say(phrase('Where arms trade places'))}"
        headings = (phrase("cross at load (interval)"), phrase("leader, low to high"), phrase("note"))
        yield _table(tuple(map(say, (phrase("metric"), phrase("arms"), *headings))), rows)


def _findings(summary: Summary, say: Say) -> Iterable[str]:
    if summary.findings:
        yield f"## {say(phrase('Findings'))}"
    for kind, (title, meaning) in FINDING_KINDS.items():
        chosen = [finding for finding in summary.findings if finding.kind == kind]
        if chosen:
            yield f"### {say(title)}"
            yield say(meaning)
            yield "\n".join(line for finding in chosen for line in _finding(finding, say))


def _finding(finding: Finding, say: Say) -> Iterator[str]:
    yield f"- {escaped(say(finding.text))} ({escaped(finding.code)})"
    if evidence := grounds(finding):
        # Within such a block GitHub reads HTML, and Markdown is not.
        lines = "<br>".join(html.escape(" ".join(plain(say(each)).split())) for each in evidence)
        title = say(phrase("Evidence ({count})", count=grounds_count(finding)))
        yield f"  <details><summary>{title}</summary>{lines}</details>\n"


def _causes(summary: Summary, manifest: Manifest, say: Say, *, has_roofline: bool) -> Iterable[str]:
    shown = causes(summary, manifest)
    if shown or has_roofline:
        yield f"## {say(phrase('Why'))}"
    if has_roofline:
        yield say(
            phrase(
                "**Under the roof** (TFLOP/s of decode steps over FLOP per byte). Filled marks count the bytes really "
                "read, hollow ones the weights loaded."
            )
        )
        yield f"![{say(phrase('Roofline, a line an arm'))}]({_ROOFLINE})"
    for sheet in shown:
        yield from _sheet(sheet, say)


def _quality(summary: Summary, manifest: Manifest, say: Say) -> Iterable[str]:
    if summary.quality is not None:
        yield f"## {say(phrase('What the bits cost in answers'))}"
        yield "\n".join(f"- {escaped(say(sentence))}" for sentence in sentences(summary))
        for sheet in quality(summary, manifest):
            yield from _sheet(sheet, say)


def _sheet(sheet: Sheet, say: Say) -> Iterable[str]:
    yield f"### {say(sheet.title)}"
    yield escaped(say(sheet.meaning))
    yield _table(
        [escaped(say(heading)) for heading in sheet.headings],
        [[escaped(say(part)) for part in row] for row in sheet.rows],
        numbers=range(sheet.words, len(sheet.headings)),
    )


def _provenance(summary: Summary, manifest: Manifest, say: Say) -> Iterable[str]:
    yield f"## {say(phrase('The arms'))}"
    yield from list(_sheet(at_a_glance(summary, manifest), say))[1:]
    yield say(phrase("Every fact, with the line that says so, is in `report.html` and `run.json`."))
    yield f"## {say(phrase('Books and client'))}"
    rows = client_rows(summary, manifest)
    clients = [
        (
            escaped(row.arm),
            escaped(f"{row.load} #{row.repeat}" if repeats(summary) > 1 else row.load),
            str(row.failed),
            escaped(say(row.errors)),
            say(row.verdict),
            escaped(say(phrase("as above") if row.remarks and row.remarks == before else joined("; ", row.remarks))),
        )
        for row, before in zip(rows, ((), *(row.remarks for row in rows)), strict=False)
    ]
    headings = (phrase("arm"), phrase("load"), phrase("failed"), phrase("errors"), phrase("client"), phrase("remarks"))
    yield _table(tuple(map(say, headings)), clients)
    for sheet in courses(summary, manifest):
        yield from _sheet(sheet, say)
    yield f"## {say(phrase('Provenance'))}"
    known = flat(manifest.host) | flat(dict(manifest.tools))
    yield "\n".join(f"- {escaped(name)}: {escaped(say(value))}" for name, value in known.items())
    yield _fenced("sh", "\n".join(say(command.line) for command in commands(manifest)))
    yield say(phrase("To reproduce: save this as `study.yaml` and run `whichbits run study.yaml`."))
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


def _picture(summary: Summary, figure: Figure, say: Say) -> bytes:
    said = description(summary, figure, changes(summary, figure.measure))
    measure = figure.measure
    axis = f"{say(measure.name)} ({say(measure.unit)})"
    return standalone(over_load(summary, figure, said, say), axis).encode()
