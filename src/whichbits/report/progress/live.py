"""Progress while a study runs: a panel on a terminal, plain lines in a log; both on stderr and cheap."""

import textwrap
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
    StudyStarted,
    WarmingUp,
)
from whichbits.language.amounts import amount
from whichbits.record.schema import Cell
from whichbits.report.progress.pace import Pace
from whichbits.report.wording import MISSING, duration, load_text, number, plain

Clock = Callable[[], float]

_REFRESH_S = 0.25
_BAR_WIDTH = 24
_LONGEST_ARM = 24


@contextmanager
def listener(
    console: Console | None = None, *, plain_lines: bool | None = None, clock: Clock = time.monotonic
) -> Iterator[Progress]:
    """Listen to a study, on stderr unless told otherwise; the terminal is restored whatever happens.

    ``plain_lines`` None chooses lines wherever the console is not a terminal.
    """
    console = console or Console(stderr=True)
    if plain_lines or (plain_lines is None and not console.is_terminal):
        yield PlainLines(console, clock)
        return
    # No refresh thread: it would share the interpreter with the timing of the requests.
    with Live(console=console, auto_refresh=False, transient=True) as live:
        yield Panel(live, clock)


class PlainLines:
    """One line an event with the time of day, and one each tenth of the study while a cell runs."""

    def __init__(self, console: Console, clock: Clock = time.monotonic) -> None:
        """Write to ``console``."""
        self._console = console
        self._clock = clock
        self._pace = Pace()
        self._names = _Names()
        self._tenths = 0

    def __call__(self, event: Event, /) -> None:
        """Follow the event and print its line, if it has one."""
        now = self._clock()
        running = self._pace.current
        self._pace.follow(event, now)
        self._names.follow(event)
        tenths = int(self._pace.share * 10 + 1e-9)
        left = self._pace.left_s(now)
        if isinstance(event, CellProgress):
            if running is not None and tenths > self._tenths and event.finished < event.requests:
                self._say(tenths * 10, f"{self._names.of(running)}  {_counts(event)}{_left(left)}")
                self._tenths = tenths
            return
        if isinstance(event, CellFinished):
            self._tenths = tenths
        ends = _left(left) if isinstance(event, CellFinished) else ""
        self._say(self._pace.share * 100, f"{event_line(event, self._names)}{ends}")

    def _say(self, percent: float, line: str) -> None:
        text = Text(f"{time.strftime('%H:%M:%S')} [{percent:3.0f}%] {line}")
        self._console.print(text, soft_wrap=True, highlight=False)


class Panel:
    """Two lines that follow the cell in flight, below a line for each arm that came up and each cell that ended."""

    def __init__(self, live: Live, clock: Clock = time.monotonic) -> None:
        """Draw in ``live``, at most four times a second."""
        self._live = live
        self._clock = clock
        self._pace = Pace()
        self._names = _Names()
        self._doing = ""
        self._drawn = float("-inf")

    def __call__(self, event: Event, /) -> None:
        """Follow the event; between two of a cell's many, draw only when a quarter second has passed."""
        now = self._clock()
        self._pace.follow(event, now)
        self._names.follow(event)
        if isinstance(event, CellProgress | CellStarted):
            if now - self._drawn < _REFRESH_S:
                return
        else:
            self._say(event)
        self._drawn = now
        self._live.update(self._render(now), refresh=True)

    def _say(self, event: Event) -> None:
        """Print what stays; what only says what happens now is left to the lines below."""
        line = event_line(event, self._names)
        self._doing = line if isinstance(event, _PASSING) else ""
        if isinstance(event, _PASSING) or (isinstance(event, StudyFinished) and not event.interrupted):
            return
        console = self._live.console
        first, *others = textwrap.wrap(line, max(20, console.width), subsequent_indent="  ", drop_whitespace=True)
        text = Text("\n".join((first, *others)), style=_style(event))
        text.stylize("bold", 0, _emphasis(event, line))
        console.print(text, highlight=False)

    def _render(self, now: float) -> RenderableType:
        pace = self._pace
        left = "" if (seconds := pace.left_s(now)) is None else f", {duration(seconds)} left"
        if pace.current is None:
            of_all = f" of {len(pace.cells)}" if pace.budget_s is None else " cells"
            done = f"{pace.finished}{of_all} done{left}" if pace.cells else ""
            return Text("\n".join(filter(None, (self._doing, done))), style="dim")
        of_all = f" of {len(pace.cells)}, {pace.share:.0%} of the study"
        course = of_all if pace.budget_s is None else f", {pace.share:.0%} of the budget"
        return Group(self._bar(), Text(f"cell {pace.position}{course}{left}", style="dim", no_wrap=True))

    def _bar(self) -> RenderableType:
        progress, cell = self._pace.progress, self._pace.current
        finished, requests = (progress.finished, progress.requests) if progress else (0, self._pace.requests)
        row = Table.grid(padding=(0, 2))
        words = _counts(progress) if progress else f"0/{amount(requests, 'request')}"
        name = "" if cell is None else self._names.of(cell)
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


class _Names:
    """Arms and loads, padded so that the numbers behind them stand below each other."""

    def __init__(self) -> None:
        self._arm, self._load = 0, len("c128")

    def follow(self, event: Event) -> None:
        """Learn the names that will come."""
        if isinstance(event, StudyStarted):
            self._arm = max((len(plain(arm)) for arm in event.arms), default=0)
        if isinstance(event, StudyStarted | Decision):
            self._load = max([self._load, *(len(load_text(cell)) for cell in event.cells)])

    def of(self, cell: Cell) -> str:
        """Return a cell's arm and load."""
        return f"{plain(cell.arm):<{min(self._arm, _LONGEST_ARM)}}  {load_text(cell):<{self._load}}"


def event_line(event: Event, names: _Names) -> str:  # noqa: PLR0911 - a line an event
    """Return an event in one line."""
    match event:
        case StudyStarted():
            return plain(_plan_line(event))
        case ArmStarting():
            return plain(f"{event.arm}: starting")
        case ArmReady():
            return plain("; ".join(filter(None, (f"{event.arm}: {_readiness(event.ready_s)}", event.facts_line))))
        case WarmingUp():
            return plain(f"{event.arm}: warming up")
        case CellStarted():
            return f"{names.of(event.cell)}  started, {amount(event.requests, 'request')}"
        case CellProgress():
            return _counts(event)
        case CellFinished():
            return _finished_line(event, names)
        case StudyFinished():
            return "interrupted; what finished is kept" if event.interrupted else "done"
        case Notice() | Decision():
            return plain(event.text)


def _emphasis(event: Event, line: str) -> int:
    """Return how many of a line's first characters name what it is about."""
    return line.find(":") + 1 if isinstance(event, ArmReady) else 0


def _estimate(event: StudyStarted) -> str:
    if event.estimate_s is None:
        return ""
    supposed = f" for {event.supposes}" if event.supposes else ""
    return f", about {duration(event.estimate_s)}{supposed}"


def _plan_line(event: StudyStarted) -> str:
    arms = ", ".join(event.arms)
    if event.budget_s is not None:
        return f"a search over {arms}, at most {duration(event.budget_s)}"
    return f"{amount(len(event.cells), 'cell')} over {arms}{_estimate(event)}"


def _finished_line(event: CellFinished, names: _Names) -> str:
    cell = event.cell
    parts = [
        names.of(cell),
        f"{_requests(cell):>14}" if cell.state == "done" else f"{cell.state:>14}",
        f"{number(event.output_tokens_per_s):>6} tok/s",
        f"TPOT {number(event.tpot_p50_ms):>5} ms",
        *([f"{cell.failed} failed"] if cell.failed else []),
    ]
    return "  ".join(parts)


def _requests(cell: Cell) -> str:
    """Return how many there were; a lone one stands in the column of the others' numbers."""
    told = f"{MISSING} requests" if cell.requests is None else amount(cell.requests, "request")
    return f"{told} " if cell.requests == 1 else told


def _counts(progress: CellProgress) -> str:
    failed = f" ({progress.failed} failed)" if progress.failed else ""
    speed = progress.output_tokens / progress.elapsed_s if progress.elapsed_s > 0 else None
    return f"{progress.finished}/{amount(progress.requests, 'request')}{failed}  {number(speed)} tok/s"


def _left(seconds: float | None) -> str:
    return "" if seconds is None else f"  {duration(seconds)} left"


def _readiness(ready_s: float | None) -> str:
    return "runs already" if ready_s is None else f"ready after {duration(ready_s)}"
