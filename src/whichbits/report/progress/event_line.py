"""What happened in a study, each event in one line, in the reader's language."""

from rich.cells import cell_len

from whichbits.conduct.events import (
    ArmReady,
    ArmStarting,
    CellFinished,
    CellProgress,
    CellStarted,
    Decision,
    Event,
    Notice,
    StudyFinished,
    StudyStarted,
    WarmingUp,
)
from whichbits.language.amounts import amount
from whichbits.language.language import ENGLISH, Language
from whichbits.language.phrase import Phrase, joined, phrase
from whichbits.language.recognition import tell
from whichbits.record.schema import Cell
from whichbits.report.lines import padded, set_right
from whichbits.report.wording import MISSING, STATES, duration, load_text, number, plain

_LONGEST_ARM = 24
_ENDED = 15
"""Columns for how a cell ended: "12,345 requests", which in Korean are fewer."""


class EventLines:
    """Says events in a language; arms and loads are padded so that the numbers behind them stand below each other."""

    def __init__(self, spoken: Language = ENGLISH) -> None:
        """Say all in ``spoken``."""
        self.say = spoken.say
        self._spoken = spoken
        self._arm, self._load = 0, len("c128")

    def follow(self, event: Event) -> None:
        """Learn the names that will come."""
        if isinstance(event, StudyStarted):
            self._arm = max((cell_len(plain(arm)) for arm in event.arms), default=0)
        if isinstance(event, StudyStarted | Decision):
            self._load = max([self._load, *(len(load_text(cell)) for cell in event.cells)])

    def name(self, cell: Cell) -> str:
        """Return a cell's arm and load."""
        return f"{padded(plain(cell.arm), min(self._arm, _LONGEST_ARM))}  {load_text(cell):<{self._load}}"

    def line(self, event: Event) -> str:  # noqa: PLR0911 - a line an event
        """Return an event in one line."""
        match event:
            case StudyStarted():
                return plain(self.say(_plan(event, tell(event.supposes, self._spoken))))
            case ArmStarting():
                return plain(self.say(phrase("{arm}: starting", arm=event.arm)))
            case ArmReady():
                return plain(self.say(_ready(event)))
            case WarmingUp():
                return plain(self.say(phrase("{arm}: warming up", arm=event.arm)))
            case CellStarted():
                started = phrase("started, {requests}", requests=amount(event.requests, "request"))
                return f"{self.name(event.cell)}  {self.say(started)}"
            case CellProgress():
                return self.counts(event)
            case CellFinished():
                return self._finished(event)
            case StudyFinished():
                kept = phrase("interrupted; what finished is kept")
                return self.say(kept if event.interrupted else phrase("done"))
            case Notice() | Decision():
                return plain(tell(event.text, self._spoken))

    def counts(self, progress: CellProgress) -> str:
        """Return how far a cell is, and how fast it goes."""
        failed = phrase(" ({failed} failed)", failed=progress.failed) if progress.failed else ""
        speed = progress.output_tokens / progress.elapsed_s if progress.elapsed_s > 0 else None
        return f"{self.answered(progress.finished, progress.requests)}{self.say(failed)}  {number(speed)} tok/s"

    def answered(self, finished: int, requests: int) -> str:
        """Return how many requests of a cell have ended."""
        if requests == 1:
            return self.say(phrase("{finished}/1 request", finished=finished))
        return self.say(phrase("{finished}/{requests} requests", finished=finished, requests=requests))

    def left(self, seconds: float | None) -> str:
        """Return how long it will still take; nothing where that is not known."""
        return "" if seconds is None else self.say(phrase("{duration} left", duration=duration(seconds)))

    def _finished(self, event: CellFinished) -> str:
        cell = event.cell
        untold = phrase("{missing} requests", missing=MISSING)
        requests = untold if cell.requests is None else amount(cell.requests, "request")
        ended = requests if cell.state == "done" else STATES[cell.state]
        parts = [
            self.name(cell),
            set_right(self.say(ended), _ENDED),
            f"{number(event.output_tokens_per_s):>6} tok/s",
            f"TPOT {number(event.tpot_p50_ms):>5} ms",
            *([self.say(phrase("{failed} failed", failed=cell.failed))] if cell.failed else []),
        ]
        return "  ".join(parts)


def _plan(event: StudyStarted, supposes: str) -> Phrase:
    arms = ", ".join(event.arms)
    if event.budget_s is not None:
        return phrase("a search over {arms}, at most {duration}", arms=arms, duration=duration(event.budget_s))
    return phrase(
        "{cells} over {arms}{estimate}",
        cells=amount(len(event.cells), "cell"),
        arms=arms,
        estimate=_estimate(event, supposes),
    )


def _estimate(event: StudyStarted, supposes: str) -> str:
    if event.estimate_s is None:
        return ""
    supposed = phrase(" for {supposes}", supposes=supposes) if supposes else ""
    return phrase(", about {duration}{supposed}", duration=duration(event.estimate_s), supposed=supposed)


def _ready(event: ArmReady) -> Phrase:
    took = phrase("ready after {duration}", duration=duration(event.ready_s))
    ready = phrase("runs already") if event.ready_s is None else took
    return phrase("{arm}: {ready}", arm=event.arm, ready=joined("; ", filter(None, (ready, event.facts_line))))
