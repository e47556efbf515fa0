"""Tables of report.md: the cells, what they cost, where arms trade places, and the sheets behind them."""

from collections.abc import Iterable

from whichbits.analyze.summary import Summary
from whichbits.language.language import Say
from whichbits.language.phrase import joined, phrase
from whichbits.record.schema import Manifest
from whichbits.report.answer import cost, predicted
from whichbits.report.answer.cost import cost_headings, cost_rows
from whichbits.report.cells.measures import MEASURES, headlines, name_of
from whichbits.report.cells.pooled import repeats
from whichbits.report.cells.table import Row, groups, has_spread, has_thin
from whichbits.report.markup import escaped, strong, table
from whichbits.report.sheets import Sheet, causes, quality
from whichbits.report.sheets.quality import sentences
from whichbits.report.wording import (
    LOAD_NAMES,
    MISSING,
    THIN_LEGEND,
    crossing,
    leader_text,
    others,
    verdict_texts,
)

ROOFLINE = "figures/roofline.svg"

MOST_PAIRS = 100
"""Comparisons, or arms in a line, that anyone reads one by one; of more, those that cross are told."""


def intervals(summary: Summary, say: Say) -> Iterable[str]:
    if predicted.is_predicted(summary) and (rows := predicted.interval_rows(summary)):
        yield f"### {say(predicted.TITLE)}"
        yield f"{say(predicted.UNITS)}."
        yield table(tuple(map(say, predicted.HEADINGS)), [tuple(escaped(say(cell)) for cell in row) for row in rows])


def cells(summary: Summary, say: Say) -> Iterable[str]:
    yield f"## {say(phrase('Every arm by {load}', load=LOAD_NAMES[summary.load_unit]))}"
    measures = (joined(" ", measure.heading) for measure in MEASURES.values())
    headings = (phrase("load"), phrase("arm"), phrase("sent"), phrase("failed"), *measures, phrase("client"))
    rows = [_row(row, say) for group in groups(summary) for row in group]
    yield table(tuple(map(say, headings)), rows, numbers=range(2, len(headings) - 1))
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
            f"{strong(escaped(value.text), strong=value.best)} {value.spread_text}".rstrip()
            for value in row.values.values()
        ),
        escaped(say(row.verdict)),
    )


def costs(summary: Summary, say: Say) -> Iterable[str]:
    if rows := cost_rows(summary):
        yield f"## {say(cost.TITLE)}"
        headings = [escaped(say(heading)) for heading in cost_headings(summary)]
        yield table(headings, [[escaped(say(part)) for part in row] for row in rows], numbers=range(1, len(headings)))
        yield say(cost.LEGEND)


def crossovers(summary: Summary, say: Say) -> Iterable[str]:
    compared = headlines(summary)
    told = compared if len(compared) <= MOST_PAIRS else crossing(compared)
    rows = [
        (
            say(name_of(entry.metric)),
            escaped(" / ".join(entry.arms)),
            escaped(say(joined(", ", verdict_texts(entry)))),
            escaped(say(leader_text(entry))),
            escaped(say(entry.note or "")),
        )
        for entry in told
    ]
    if compared:
        yield f"## {say(phrase('Where arms trade places'))}"
    if rows:
        headings = (phrase("cross at load (interval)"), phrase("leader, low to high"), phrase("note"))
        yield table(tuple(map(say, (phrase("metric"), phrase("arms"), *headings))), rows)
    if len(told) < len(compared):
        yield escaped(say(others(compared)))


def causes_told(summary: Summary, manifest: Manifest, say: Say, *, has_roofline: bool) -> Iterable[str]:
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
        yield f"![{say(phrase('Roofline, a line an arm'))}]({ROOFLINE})"
    for sheet in shown:
        yield from sheet_blocks(sheet, say)


def quality_told(summary: Summary, manifest: Manifest, say: Say) -> Iterable[str]:
    if summary.quality is not None:
        yield f"## {say(phrase('What the bits cost in answers'))}"
        yield "\n".join(f"- {escaped(say(sentence))}" for sentence in sentences(summary))
        for sheet in quality(summary, manifest):
            yield from sheet_blocks(sheet, say)


def sheet_blocks(sheet: Sheet, say: Say) -> Iterable[str]:
    yield f"### {say(sheet.title)}"
    yield escaped(say(sheet.meaning))
    yield table(
        [escaped(say(heading)) for heading in sheet.headings],
        [[escaped(say(part)) for part in row] for row in sheet.rows],
        numbers=range(sheet.words, len(sheet.headings)),
    )
