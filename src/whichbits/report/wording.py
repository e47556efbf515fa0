"""How numbers, loads and names are written for people, the same in every report."""

import shlex
import unicodedata
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime

from whichbits.analyze.amounts import cells_of
from whichbits.analyze.summary import CellSummary, Crossing, Crossover, Finding, Summary
from whichbits.language.phrase import joined, phrase
from whichbits.record.schema import Cell, Manifest
from whichbits.study.model import load_name

MISSING = "–"  # noqa: RUF001 - an en dash is what a table shows for a value that is not known
THIN = "~"
BEST = "*"
THIN_LEGEND = phrase("{thin} fewer than 10 samples lie beyond this percentile", thin=THIN)
BEST_LEGEND = phrase("{best} best of the load", best=BEST)

VERDICTS = {
    "client_ok": phrase("ok"),
    "client_suspect": phrase("suspect"),
    "client_limited": phrase("LIMITED"),
    None: MISSING,
}

STATES = {"interrupted": phrase("cut short"), "planned": phrase("not run"), "skipped": phrase("skipped")}

CROSSOVER_VERDICTS = {
    "crosses": phrase("cross"),
    "none": phrase("no crossing"),
    "tie": phrase("tie"),
    "noisy": phrase("too noisy"),
}

LOAD_NAMES = {"concurrency": phrase("concurrent requests"), "request_rate": phrase("requests per second")}

FINDING_KINDS = {
    "observed": (phrase("Observed"), phrase("What the numbers show.")),
    "interpretation": (
        phrase("Interpretation"),
        phrase("What would explain it; the evidence fits, but does not prove."),
    ),
    "unresolved": (phrase("Unresolved"), phrase("What this run cannot say.")),
}


def number(value: float | None) -> str:
    """Return about three significant digits: ``0.95``, ``9.87``, ``23.4``, ``105``, ``1234``."""
    if value is None:
        return MISSING
    size = abs(value)
    digits = 0 if size >= 99.95 else 1 if size >= 9.995 else 2
    return f"{value:.{digits}f}"


def count(value: int | None) -> str:
    """Return a whole number as scripts would write it."""
    return MISSING if value is None else str(value)


def share_text(share: float | None) -> str:
    """Return a share: ``31%``, ``99.9%``, ``0.4%``; all and nothing are said of exactly that only."""
    if share is None:
        return MISSING
    percent = 100 * share
    if percent in (0, 100):
        return f"{percent:.0f}%"
    if percent > 110:
        return f"{percent:.0f}%"
    return f"{min(max(percent, 0.1), 99.9) if percent < 100 else percent:.1f}%"


def short_load(value: float) -> str:
    """Return a point of the load axis: ``16``, ``5.0``, ``128``; more digits would claim more than is known."""
    return f"{value:.1f}" if value < 10 and value != round(value) else f"{value:.0f}"


def load_of(cell: CellSummary, load_unit: str) -> float | None:
    """Return where a cell lies on the load axis."""
    return cell.concurrency if load_unit == "concurrency" else cell.request_rate


def load_text(cell: CellSummary | Cell) -> str:
    """Return the load as studies write it: ``c16``, ``10/s``, ``10/s cap 32``."""
    return rate_text(cell.request_rate, cell.concurrency)


def rate_text(request_rate: float | None, concurrency: int | None) -> str:
    """Return the same of a rate and a concurrency."""
    untold = request_rate is None and concurrency is None
    return f"c{MISSING}" if untold else load_name(concurrency, request_rate)


def crossing_text(crossing: Crossing) -> str:
    """Return a crossing with its interval: ``5.02 (4.4 to 6.1)``."""
    if crossing.low is None or crossing.high is None:
        return short_load(crossing.load)
    low, high = short_load(crossing.low), short_load(crossing.high)
    return phrase("{load} ({low} to {high})", load=short_load(crossing.load), low=low, high=high)


def place_text(crossover: Crossover, crossing: Crossing) -> str:
    """Return the same, or that no load can be named: within the loads compared it may lie anywhere."""
    if crossover.is_placed(crossing):
        return crossing_text(crossing)
    low, high = short_load(crossover.loads[0]), short_load(crossover.loads[-1])
    return phrase("not placed ({low} to {high})", low=low, high=high)


def verdict_texts(crossover: Crossover) -> tuple[str, ...]:
    """Return where the pair crosses, an entry a crossing, or why there is no such load and what would find it."""
    if crossover.verdict == "crosses":
        return tuple(place_text(crossover, crossing) for crossing in crossover.crossings)
    more = crossover.repeats_needed
    wanted = (
        phrase(" ({more} more repeats)", more=more) if more and more > 1 else phrase(" (1 more repeat)") if more else ""
    )
    return (joined("", (CROSSOVER_VERDICTS[crossover.verdict], wanted)),)


def crossing(crossovers: Sequence[Crossover]) -> tuple[Crossover, ...]:
    """Return those that cross: all that is told one by one where there are very many."""
    return tuple(each for each in crossovers if each.verdict == "crosses")


def others(crossovers: Sequence[Crossover]) -> str:
    """Return how many do not cross, and why not."""
    verdicts = [each.verdict for each in crossovers]
    told = [
        phrase("{count} {words}", count=verdicts.count(verdict), words=words)
        for verdict, words in _NOT_CROSSING.items()
        if verdict in verdicts
    ]
    return phrase("Of {count} comparisons {others}: see report.html.", count=len(crossovers), others=joined(", ", told))


_NOT_CROSSING = {
    "none": phrase("without a crossing"),
    "tie": phrase("tied"),
    "noisy": phrase("too noisy to say"),
}


def leader_text(crossover: Crossover) -> str:
    """Return who leads from the low to the high end: ``w4a8 → fp16``, an arm a stretch, or one name where it stays.

    ``?`` stands where noise hides who leads.
    """
    nobody = "?" if crossover.verdict == "noisy" else phrase("tie")
    low, high = crossover.leader_low_load or nobody, crossover.leader_high_load or nobody
    if crossover.leaders[-1:] == (high,):
        return joined(" → ", crossover.leaders)
    return low if low == high else phrase("{low} → {high}", low=low, high=high)


def interruption(summary: Summary) -> str:
    """Return how far an interrupted run came; one without cells asked for quality only."""
    if not summary.cells:
        return phrase("not every arm was asked")
    states = Counter(cell.state for cell in summary.cells)
    parts = [
        phrase("{count} {words}", count=states[state], words=words) for state, words in STATES.items() if states[state]
    ]
    return phrase(
        "{cells} finished{others}",
        cells=cells_of(states["done"], len(summary.cells)),
        others=joined("", [joined("", (", ", part)) for part in parts]),
    )


def resumptions(manifest: Manifest) -> str:
    """Return that a run was stopped and gone on with, and when; empty for one that was not."""
    moments = [note.split()[1] for note in manifest.notes if note.startswith("resumed ")]
    return (
        phrase("Stopped and resumed {moments}: its cells are of several sittings.", moments=_moments(moments))
        if moments
        else ""
    )


def _moments(moments: Sequence[str]) -> str:
    return joined(", ", [moment(each) for each in moments])


def resume_command(summary: Summary, folder: str | None = None) -> str:
    """Return the command that goes on with an interrupted run; ``folder`` is the run's, as the user wrote it."""
    verb = "run --resume" if summary.cells else "quality"
    return f"whichbits {verb} {shlex.quote(folder or summary.run)}"


_MOST_GROUNDS = 8


def grounds(finding: Finding) -> tuple[str, ...]:
    """Return a finding's evidence, cut where it is long, and last the measurement that would settle it."""
    settled = (
        () if finding.settled_by is None else (phrase("Would settle it: {settled_by}", settled_by=finding.settled_by),)
    )
    left = len(finding.evidence) - _MOST_GROUNDS
    more = () if left <= 0 else (phrase("and {left} more: see summary.json", left=left),)
    return (*finding.evidence[:_MOST_GROUNDS], *more, *settled)


def grounds_count(finding: Finding) -> int:
    """Return how many pieces of evidence a finding has, also those that are not shown."""
    return len(finding.evidence) + (finding.settled_by is not None)


def short_version(version: str | None) -> str | None:
    """Return a version without its build: ``2026.4.1.0-3408-ab01d1`` is ``2026.4.1.0``."""
    return None if version is None else version.partition("-")[0]


def duration(seconds: float | None) -> str:
    """Return a time to wait: ``8s``, ``1m12s``, ``2h05m``."""
    if seconds is None:
        return MISSING
    whole = max(0, round(seconds))
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return phrase("{hours}h{minutes:02d}m", hours=hours, minutes=minutes)
    return phrase("{minutes}m{rest:02d}s", minutes=minutes, rest=rest) if minutes else phrase("{rest}s", rest=rest)


def moment(created: str) -> str:
    """Return a recorded time to the minute, ``2026-11-29 14:04 UTC``; what is not one stays as it is."""
    try:
        at = datetime.fromisoformat(created)
    except ValueError:
        return created
    return created if at.tzinfo is None else f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def plain(text: str) -> str:
    """Return text that cannot steer a terminal or turn a line round: of control characters, newline and tab stay."""
    odd = (c for c in set(text) - {"\n", "\t"} if unicodedata.category(c) in ("Cc", "Cf"))
    return text.translate(dict.fromkeys(map(ord, odd), "\N{REPLACEMENT CHARACTER}"))
