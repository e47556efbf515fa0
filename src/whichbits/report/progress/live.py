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
    StudyStarted,
    WarmingUp,
)
from whichbits.record.schema import Cell
from whichbits.report.progress.pace import Pace
from whichbits.report.wording import MISSING, duration, load_text, number, plain

Clock = Callable[[], float]

_REFRESH_S = 0.25


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
    """One line an event, and one each tenth of the study while a cell runs."""

    def __init__(self, console: Console, clock: Clock = time.monotonic) -> None:
        """Write to ``console``."""
        self._console = console
        self._clock = clock
        self._pace = Pace()
        self._tenths = 0

    def __call__(self, event: Event, /) -> None:
        """Follow the event and print its line, if it has one."""
        now = self._clock()
        running = self._pace.current
        self._pace.follow(event, now)
        tenths = int(self._pace.share * 10 + 1e-9)
        if isinstance(event, CellProgress):
            if running is not None and tenths > self._tenths and event.finished < event.requests:
                self._say(f"{self._percent(tenths)} {_progress_line(running, event, self._pace.left_s(now))}")
                self._tenths = tenths
            return
        if isinstance(event, CellFinished):
            self._tenths = tenths
        self._say(f"{self._percent(None)} {event_line(event, self._pace.left_s(now))}")

    def _percent(self, tenths: int | None) -> str:
        share = self._pace.share * 100 if tenths is None else tenths * 10
        return f"[{share:3.0f}%]"

    def _say(self, line: str) -> None:
        self._console.print(Text(line), soft_wrap=True)


class Panel:
    """A few lines that follow the cell in flight, below a line for each event that happened."""

    def __init__(self, live: Live, clock: Clock = time.monotonic) -> None:
        """Draw in ``live``, at most four times a second."""
        self._live = live
        self._clock = clock
        self._pace = Pace()
        self._drawn = float("-inf")

    def __call__(self, event: Event, /) -> None:
        """Follow the event; between two of a cell's many, draw only when a quarter second has passed."""
        now = self._clock()
        self._pace.follow(event, now)
        if isinstance(event, CellProgress | CellStarted):
            if now - self._drawn < _REFRESH_S:
                return
        else:
            self._live.console.print(Text(event_line(event, None)))
        self._drawn = now
        self._live.update(self._render(now), refresh=True)

    def _render(self, now: float) -> RenderableType:
        pace = self._pace
        if pace.current is None:
            return Text(f"cell {pace.finished} of {len(pace.cells)} done", style="dim")
        head = Text.assemble(
            (f"{plain(pace.current.arm)} {load_text(pace.current)}", "bold"),
            (f"   cell {pace.position} of {len(pace.cells)}, {duration(pace.left_s(now))} left", "dim"),
        )
        return Group(head, self._bar())

    def _bar(self) -> RenderableType:
        progress = self._pace.progress
        finished, requests = (progress.finished, progress.requests) if progress else (0, self._pace.requests)
        row = Table.grid(padding=(0, 2))
        words = _counts(progress) if progress else f"0/{requests} requests"
        row.add_row(ProgressBar(total=max(1, requests), completed=finished, width=24), Text(words))
        return row


def event_line(event: Event, left_s: float | None) -> str:  # noqa: PLR0911 - a line an event
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
            return f"{plain(event.cell.arm)} {load_text(event.cell)}  started, {event.requests} requests"
        case CellProgress():
            return _counts(event)
        case CellFinished():
            return _finished_line(event, left_s)
        case StudyFinished():
            return "interrupted; what finished is kept" if event.interrupted else "done"
        case Notice() | Decision():
            return plain(event.text)


def _estimate(event: StudyStarted) -> str:
    if event.estimate_s is None:
        return ""
    supposed = f" for {event.supposes}" if event.supposes else ""
    return f", about {duration(event.estimate_s)}{supposed}"


def _plan_line(event: StudyStarted) -> str:
    arms = ", ".join(event.arms)
    if event.budget_s is not None:
        return f"a search over {arms}, at most {duration(event.budget_s)}"
    return f"{len(event.cells)} cells over {arms}{_estimate(event)}"


def _finished_line(event: CellFinished, left_s: float | None) -> str:
    cell = event.cell
    failed = f" ({cell.failed} failed)" if cell.failed else ""
    requests = MISSING if cell.requests is None else str(cell.requests)
    parts = [
        f"{plain(cell.arm)} {load_text(cell)}",
        f"{requests}/{requests} requests{failed}" if cell.state == "done" else cell.state,
        f"{number(event.output_tokens_per_s)} tok/s",
        f"TPOT {number(event.tpot_p50_ms)} ms",
    ]
    return "  ".join([*parts, *([f"{duration(left_s)} left"] if left_s is not None else [])])


def _progress_line(cell: Cell, progress: CellProgress, left_s: float | None) -> str:
    left = "" if left_s is None else f"  {duration(left_s)} left"
    return f"{plain(cell.arm)} {load_text(cell)}  {_counts(progress)}{left}"


def _counts(progress: CellProgress) -> str:
    failed = f" ({progress.failed} failed)" if progress.failed else ""
    speed = progress.output_tokens / progress.elapsed_s if progress.elapsed_s > 0 else None
    return f"{progress.finished}/{progress.requests} requests{failed}  {number(speed)} tok/s"


def _readiness(ready_s: float | None) -> str:
    return "runs already" if ready_s is None else f"ready after {duration(ready_s)}"
