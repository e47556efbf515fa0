"""Progress: a line an event and each tenth in a log, few redraws on a terminal, an honest time left."""

import io
from collections.abc import Iterator

import pytest
from rich.console import Console

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
from whichbits.record.schema import Cell
from whichbits.report.progress.live import listener
from whichbits.report.progress.pace import Pace

CELLS = tuple(
    Cell(number, arm, load, None, 0) for number, (arm, load) in enumerate([("a", 1), ("a", 8), ("b", 1), ("b", 8)])
)


class Time:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def study(clock: Time, cells: tuple[Cell, ...] = CELLS, ticks: int = 50) -> Iterator[Event]:
    """Each cell takes as many seconds as its load; ``ticks`` progress events in it."""
    yield StudyStarted(cells, ("a", "b"))
    arm = None
    for cell in cells:
        if cell.arm != arm:
            arm = cell.arm
            yield ArmStarting(arm)
            clock.now += 2
            yield ArmReady(arm, 2.0, "kv cache 11264 tokens")
            yield WarmingUp(arm)
        yield CellStarted(cell, ticks)
        for tick in range(1, ticks + 1):
            clock.now += (cell.concurrency or 0) / ticks
            yield CellProgress(tick, 0, ticks, tick * 32, tick / ticks * (cell.concurrency or 1))
        done = Cell(cell.cell, cell.arm, cell.concurrency, None, 0, "done", requests=ticks, failed=0)
        yield CellFinished(done, 20.5, 312.0)
    yield StudyFinished(interrupted=False)


def plain_lines(cells: tuple[Cell, ...] = CELLS) -> list[str]:
    clock, file = Time(), io.StringIO()
    with listener(Console(file=file, width=80), clock=clock) as progress:
        for event in study(clock, cells):
            progress(event)
    return file.getvalue().splitlines()


def test_a_log_gets_a_line_at_every_tenth_of_the_study() -> None:
    ticking = [line for line in plain_lines() if "requests  " in line]
    shares = [line[: line.index("]") + 1] for line in ticking]

    tenths = [f"[{share:3d}%]" for share in range(10, 101, 10)]
    assert [share for share in shares if share in tenths] == tenths
    assert len(shares) == len(set(shares)) == len(tenths) + 2


def test_a_log_gets_one_line_for_each_other_event() -> None:
    lines = plain_lines()

    assert sum("started" in line for line in lines) == 4
    assert sum("TPOT 20.5 ms" in line for line in lines) == 4
    assert sum("ready after 2s; kv cache 11264 tokens" in line for line in lines) == 2
    assert lines[0] == "[  0%] 4 cells over a, b"
    assert lines[-1] == "[100%] done"


def test_the_time_left_follows_from_finished_cells_of_the_same_load() -> None:
    clock, pace = Time(), Pace()
    for event in study(clock):
        pace.follow(event, clock.now)
        if isinstance(event, CellFinished) and event.cell.cell == 1:
            break

    # One arm more at 2 s until its first cell, then 1 s and 8 s as the first arm took.
    assert pace.left_s(clock.now) == pytest.approx(2 + 1 + 8)


def test_without_a_finished_cell_or_an_estimate_the_time_left_is_not_known() -> None:
    pace = Pace()
    pace.follow(StudyStarted(CELLS, ("a", "b")), 0.0)

    assert pace.left_s(0.0) is None


def test_a_load_without_a_finished_cell_takes_its_estimate_stretched_as_others_were() -> None:
    clock, pace = Time(), Pace()
    pace.follow(StudyStarted(CELLS, ("a", "b"), 30.0, (2.0, 5.0, 2.0, 5.0)), clock.now)
    assert pace.left_s(clock.now) == pytest.approx(14)

    pace.follow(ArmStarting("a"), clock.now)
    pace.follow(CellStarted(CELLS[0], 10), clock.now)
    clock.now += 6
    pace.follow(CellFinished(CELLS[0], 20.5, 312.0), clock.now)

    # Load 1 took 6 s, thrice its estimate: again 6 s in arm b, and 15 s for each cell of load 8.
    assert pace.left_s(clock.now) == pytest.approx(15 + 6 + 15)


def test_a_cell_of_a_new_load_goes_by_its_own_pace_once_a_quarter_of_it_is_done() -> None:
    clock, pace = Time(), Pace()
    pace.follow(StudyStarted(CELLS[:2], ("a",), 7.0, (2.0, 5.0)), clock.now)
    pace.follow(CellStarted(CELLS[0], 10), clock.now)
    clock.now += 8
    pace.follow(CellProgress(2, 0, 10, 64, 8.0), clock.now)
    assert pace.left_s(clock.now) == pytest.approx(0 + 5)

    pace.follow(CellProgress(4, 0, 10, 128, 8.0), clock.now)
    assert pace.left_s(clock.now) == pytest.approx(12 + 5)  # 4 of 10 in 8 s: 20 s in all


def test_the_estimate_says_what_it_supposes() -> None:
    file = io.StringIO()
    with listener(Console(file=file, width=80)) as progress:
        progress(StudyStarted(CELLS, ("a", "b"), 154.0, (), "a quiet machine of two cores"))

    assert "about 2m34s for a quiet machine of two cores" in file.getvalue()


def test_of_a_search_the_budget_is_what_is_shared_and_left() -> None:
    pace = Pace()
    pace.follow(StudyStarted((), ("a", "b"), budget_s=200.0), 100.0)
    pace.follow(Decision("next: a, b at 1: coarse sweep", CELLS[:1]), 110.0)
    pace.follow(CellStarted(CELLS[0], 10), 150.0)

    assert pace.cells == CELLS[:1]
    assert pace.share == 0.25
    assert pace.left_s(160.0) == 140.0
    assert pace.left_s(999.0) == 0.0


def test_the_panel_redraws_at_most_four_times_a_second() -> None:
    clock, file = Time(), io.StringIO()
    ticks = 10_000
    with listener(Console(file=file, width=80, force_terminal=True), clock=clock) as progress:
        for event in study(clock, CELLS[:1], ticks=ticks):
            progress(event)

    # One second of traffic: four redraws and one an event, each of two lines.
    assert 1 <= file.getvalue().count("requests  ") <= 6


def test_text_from_outside_cannot_steer_the_terminal() -> None:
    file = io.StringIO()
    with listener(Console(file=file, width=80)) as progress:
        progress(Notice("\x1b[2J[red]server said"))

    assert "\x1b" not in file.getvalue()
    assert "[red]server said" in file.getvalue()


def test_progress_goes_to_stderr_only(capsys: pytest.CaptureFixture[str]) -> None:
    with listener() as progress:
        progress(Notice("told"))

    captured = capsys.readouterr()
    assert (captured.out, "told" in captured.err) == ("", True)
