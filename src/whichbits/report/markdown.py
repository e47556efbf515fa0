"""report.md: the report for a pull request or a blog, its charts as SVG files beside it."""

import html
from collections.abc import Iterable, Iterator, Mapping, Sequence

from whichbits.analyze.latency.request_timelines import CellRequests
from whichbits.analyze.summary import Finding, Summary
from whichbits.analyze.summary.source import SOURCES
from whichbits.language.language import ENGLISH, Language, Say
from whichbits.language.phrase import first_of, joined, phrase
from whichbits.record.schema import Manifest
from whichbits.report.answer import predicted, predictions, regimes
from whichbits.report.answer.lead import lead
from whichbits.report.answer.validity import answer_text, doubts, scope_text
from whichbits.report.cells.measures import BETTER, name_of
from whichbits.report.cells.pooled import repeats
from whichbits.report.markdown_tables import (
    MOST_PAIRS,
    ROOFLINE,
    causes_told,
    cells,
    costs,
    crossovers,
    intervals,
    quality_told,
    sheet_blocks,
)
from whichbits.report.markup import cut, escaped, fenced, table
from whichbits.report.plots.figures import Figure, description, figures, thin_text
from whichbits.report.plots.over_load import over_load
from whichbits.report.plots.series import changes
from whichbits.report.plots.svg import standalone
from whichbits.report.plots.under_roof import under_roof
from whichbits.report.provenance import client_rows, commands, flat, study_yaml
from whichbits.report.sheets import at_a_glance, comparisons, courses
from whichbits.report.sheets.every_arm import every_arm
from whichbits.report.shown import Shown, shown
from whichbits.report.wording import (
    FINDING_KINDS,
    grounds,
    grounds_count,
    interruption,
    moment,
    plain,
    resume_command,
    resumptions,
)

MOST_BYTES = 400_000
"""GitHub shows a file of up to 512 kB as a page."""

MOST_ROWS = (1_000_000, 300, 100, 30, 10)
"""Rows of a table that are tried, until the page is small enough: all, where they fit."""


def markdown(
    summary: Summary,
    manifest: Manifest,
    spoken: Language = ENGLISH,
    requests: Sequence[CellRequests] = (),  # noqa: ARG001 - a Reporter
) -> Mapping[str, bytes]:
    """Return ``report.md`` and its ``figures/*.svg``.

    Of very many arms it draws those of ``shown``; of very many cells it has tables cut, so that it can be read.
    """
    say, drawn = spoken.say, shown(summary, manifest)
    pictures = {_file(figure): _picture(drawn.summary, figure, say) for figure in figures(drawn.summary)}
    if roofline := under_roof(drawn.summary, phrase("Roofline"), say):
        pictures[ROOFLINE] = standalone(roofline, "TFLOP/s").encode()
    blocks = [
        *_answer(summary, manifest, say),
        *_by_metric(summary, say),
        *predictions.markdown(summary, say, escaped),
        *_evidence(drawn, say, has_roofline=ROOFLINE in pictures),
        *_every_arm(summary, say),
        *_findings(summary, say),
        *_provenance(drawn, say),
        *_to_reproduce(manifest, say),
    ]
    return {"report.md": _fitted(blocks, say)} | pictures


def _fitted(blocks: Sequence[str], say: Say) -> bytes:
    """Return the page with as many rows of its tables as leave it below ``MOST_BYTES``."""
    text = b""
    for most_rows in MOST_ROWS:
        text = ("\n\n".join(cut(block, most_rows, say) for block in blocks) + "\n").encode()
        if len(text) <= MOST_BYTES:
            break
    return text


def _evidence(drawn: Shown, say: Say, *, has_roofline: bool) -> Iterable[str]:
    summary, manifest = drawn.summary, drawn.manifest
    yield from _pictures(summary, figures(summary), drawn.rules, say)
    yield from cells(summary, say)
    yield from intervals(summary, say)
    yield from costs(summary, say)
    yield from crossovers(summary, say)
    yield from (block for sheet in comparisons(summary, manifest) for block in sheet_blocks(sheet, say))
    yield from quality_told(summary, manifest, say)
    yield from causes_told(summary, manifest, say, has_roofline=has_roofline)


def _every_arm(summary: Summary, say: Say) -> Iterable[str]:
    if (sheet := every_arm(summary)) is not None:
        title, meaning, table = sheet_blocks(sheet, say)
        yield from (title, meaning, cut(table, MOST_PAIRS, say))


def _answer(summary: Summary, manifest: Manifest, say: Say) -> Iterable[str]:
    yield f"# {escaped(summary.study)}"
    arms, source = first_of(", ", tuple(summary.arms)), SOURCES[summary.source].titled()
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
    yield table(tuple(map(say, (phrase("metric"), phrase("serve"), phrase("doubts")))), rows)


def _pictures(summary: Summary, drawn: Sequence[Figure], rules: Sequence[str], say: Say) -> Iterable[str]:
    if drawn:
        yield f"## {say(phrase('Curves over load'))}"
        yield from (escaped(say(rule)) for rule in rules)
        yield say(
            phrase(
                "Bands are 95 % intervals; dashed rules mark where the lead changes, shaded where either may be better."
            )
        )
    for figure in drawn:
        measure = figure.measure
        better = f", {say(BETTER[measure.better])}" if measure.better else ""
        meaning = say(joined(" ", (measure.meaning, thin_text(summary, measure))))
        yield f"**{say(measure.name)}** ({say(measure.unit)}{better}). {escaped(meaning)}"
        yield f"![{say(phrase('{name} over load, a line an arm', name=measure.name))}]({_file(figure)})"


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


def _provenance(drawn: Shown, say: Say) -> Iterable[str]:
    summary, manifest = drawn.summary, drawn.manifest
    several = repeats(summary) > 1
    yield f"## {say(phrase('The arms'))}"
    yield from list(sheet_blocks(at_a_glance(summary, manifest), say))[1:]
    yield say(phrase("Every fact, with the line that says so, is in `report.html` and `run.json`."))
    yield f"## {say(phrase('Books and client'))}"
    rows = client_rows(summary, manifest)
    clients = [
        (
            escaped(row.arm),
            escaped(f"{row.load} #{row.repeat}" if several else row.load),
            str(row.failed),
            escaped(say(row.errors)),
            say(row.verdict),
            escaped(say(phrase("as above") if row.remarks and row.remarks == before else joined("; ", row.remarks))),
        )
        for row, before in zip(rows, ((), *(row.remarks for row in rows)), strict=False)
    ]
    headings = (phrase("arm"), phrase("load"), phrase("failed"), phrase("errors"), phrase("client"), phrase("remarks"))
    yield table(tuple(map(say, headings)), clients)
    for sheet in courses(summary, manifest):
        yield from sheet_blocks(sheet, say)
    yield f"## {say(phrase('Provenance'))}"
    known = flat(manifest.host) | flat(dict(manifest.tools))
    yield "\n".join(f"- {escaped(name)}: {escaped(say(value))}" for name, value in known.items())
    yield fenced("sh", "\n".join(say(command.line) for command in commands(manifest)))


def _to_reproduce(manifest: Manifest, say: Say) -> Iterable[str]:
    yield say(phrase("To reproduce: save this as `study.yaml` and run `whichbits run study.yaml`."))
    yield fenced("yaml", study_yaml(manifest))


def _file(figure: Figure) -> str:
    return f"figures/{figure.name}.svg"


def _picture(summary: Summary, figure: Figure, say: Say) -> bytes:
    said = description(summary, figure, changes(summary, figure.measure))
    measure = figure.measure
    axis = f"{say(measure.name)} ({say(measure.unit)})"
    return standalone(over_load(summary, figure, said, say), axis).encode()
