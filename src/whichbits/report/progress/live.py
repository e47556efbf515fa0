"""Progress while a study runs: a panel on a terminal, plain lines in a log; both on stderr and cheap."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from whichbits.conduct.events import (
    ArmReady,
    ArmStarting,
    CellFinished,
    CellProgress,
    CellStarted,
    Decision,
    Event,
    Notice,
    Progress,
    StudyFinished,
    WarmingUp,
)
from whichbits.language.amounts import amount
from whichbits.language.language import ENGLISH, Language
from whichbits.language.phrase import Phrase, phrase
from whichbits.language.recognition import tell
from whichbits.report.progress.event_line import EventLines
from whichbits.report.progress.pace import Pace

Clock = Callable[[], float]

_REFRESH_S = 0.25
_BAR_WIDTH = 24
_LEAST_WIDTH = 20


@contextmanager
def listener(
    console: Console | None = None,
    *,
    plain_lines: bool | None = None,
    clock: Clock = time.monotonic,
    spoken: Language = ENGLISH,
) -> Iterator[Progress]:
    """Listen to a study, on stderr unless told otherwise; the terminal is restored whatever happens.

    ``plain_lines`` None chooses lines wherever the console is not a terminal.
    """
    console = console or Console(stderr=True)
    tell("", spoken)  # what a language needs is read now, not while requests are timed
    if plain_lines or (plain_lines is None and not console.is_terminal):
        yield PlainLines(console, clock, spoken)
        return
    # No refresh thread: it would share the interpreter with the timing of the requests.
    with Live(console=console, auto_refresh=False, transient=True) as live:
        yield Panel(live, clock, spoken)


class PlainLines:
    """One line an event with the time of day, and one each tenth of the study while a cell runs."""

    def __init__(self, console: Console, clock: Clock = time.monotonic, spoken: Language = ENGLISH) -> None:
        """Write to ``console``."""
        self._console = console
        self._clock = clock
        self._pace = Pace()
        self._lines = EventLines(spoken)
        self._tenths = 0

    def __call__(self, event: Event, /) -> None:
        """Follow the event and print its line, if it has one."""
        now = self._clock()
        running = self._pace.current
        self._pace.follow(event, now)
        self._lines.follow(event)
        tenths = int(self._pace.share * 10 + 1e-9)
        left = self._pace.left_s(now)
        if isinstance(event, CellProgress):
            if running is not None and tenths > self._tenths and event.finished < event.requests:
                self._say(tenths * 10, f"{self._lines.name(running)}  {self._lines.counts(event)}", left)
                self._tenths = tenths
            return
        if isinstance(event, CellFinished):
            self._tenths = tenths
        self._say(self._pace.share * 100, self._lines.line(event), left if isinstance(event, CellFinished) else None)

    def _say(self, percent: float, line: str, left_s: float | None = None) -> None:
        said = "  ".join(filter(None, (line, self._lines.left(left_s))))
        text = Text(f"{time.strftime('%H:%M:%S')} [{percent:3.0f}%] {said}")
        self._console.print(text, soft_wrap=True, highlight=False)


class Panel:
    """Two lines that follow the cell in flight, below a line for each arm that came up and each cell that ended."""

    def __init__(self, live: Live, clock: Clock = time.monotonic, spoken: Language = ENGLISH) -> None:
        """Draw in ``live``, at most four times a second."""
        self._live = live
        self._clock = clock
        self._pace = Pace()
        self._lines = EventLines(spoken)
        self._doing = ""
        self._drawn = float("-inf")

    def __call__(self, event: Event, /) -> None:
        """Follow the event; between two of a cell's many, draw only when a quarter second has passed."""
        now = self._clock()
        self._pace.follow(event, now)
        self._lines.follow(event)
        if isinstance(event, CellProgress | CellStarted):
            if now - self._drawn < _REFRESH_S:
                return
        else:
            self._say(event)
        self._drawn = now
        self._live.update(self._render(now), refresh=True)

    def _say(self, event: Event) -> None:
        """Print what stays; what only says what happens now is left to the lines below."""
        line = self._lines.line(event)
        self._doing = line if isinstance(event, _PASSING) else ""
        if isinstance(event, _PASSING) or (isinstance(event, StudyFinished) and not event.interrupted):
            return
        text = Text(line, style=_style(event))
        text.stylize("bold", 0, _emphasis(event, line))
        self._live.console.print(self._fitted(text), highlight=False)

    def _fitted(self, text: Text) -> Text:
        """Return the text in lines of the console's width, those after the first set in by two."""
        width = max(_LEAST_WIDTH, self._live.console.width)
        if text.cell_len <= width:
            return text
        return Text("\n  ").join(line for line in text.wrap(self._live.console, width - 2))

    def _render(self, now: float) -> RenderableType:
        left = self._lines.left(self._pace.left_s(now))
        course = ", ".join(filter(None, (self._lines.say(self._course()), left)))
        if self._pace.current is None:
            done = course if self._pace.cells else ""
            return Text("\n".join(filter(None, (self._doing, done))), style="dim")
        return Group(self._bar(), Text(course, style="dim", no_wrap=True))

    def _course(self) -> Phrase:
        """Return how far the study is, or of a search, whose cells are not known, how much it has spent."""
        pace, searches = self._pace, self._pace.budget_s is not None
        if pace.current is None and searches:
            return phrase("{cells} done", cells=amount(pace.finished, "cell"))
        if pace.current is None:
            return phrase("{finished} of {cells} done", finished=pace.finished, cells=len(pace.cells))
        if searches:
            return phrase("cell {position}, {share:.0%} of the budget", position=pace.position, share=pace.share)
        return phrase(
            "cell {position} of {cells}, {share:.0%} of the study",
            position=pace.position,
            cells=len(pace.cells),
            share=pace.share,
        )

    def _bar(self) -> RenderableType:
        progress, cell = self._pace.progress, self._pace.current
        finished, requests = (progress.finished, progress.requests) if progress else (0, self._pace.requests)
        row = Table.grid(padding=(0, 2))
        words = self._lines.counts(progress) if progress else self._lines.answered(0, requests)
        name = "" if cell is None else self._lines.name(cell)
        bar = ProgressBar(
            total=max(1, requests), completed=finished, width=min(_BAR_WIDTH, self._live.console.width // 4)
        )
        row.add_row(Text(name, style="bold"), bar, Text(words, no_wrap=True))
        return row


_PASSING = (ArmStarting, WarmingUp)


def _style(event: Event) -> str:
    if isinstance(event, Notice):
        return "yellow" if event.grave else "dim"
    return "dim" if isinstance(event, Decision) else ""


def _emphasis(event: Event, line: str) -> int:
    """Return how many of a line's first characters name what it is about."""
    return line.find(":") + 1 if isinstance(event, ArmReady) else 0
