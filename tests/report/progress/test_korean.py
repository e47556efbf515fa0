"""Progress in Korean: every event is said in it, names stay, and numbers stand below each other by columns."""

import io
import re
from dataclasses import replace
from typing import get_args

import pytest
from rich.cells import cell_len
from rich.console import Console

from tests.report.progress.test_live import CELLS, Time, study
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
from whichbits.language.language import language
from whichbits.record.schema import Cell, CellState
from whichbits.report.progress.event_line import EventLines
from whichbits.report.progress.live import listener

KOREAN = language("ko")
ENDED = replace(CELLS[0], state="done", requests=64, failed=0)
SAID: list[tuple[Event, str]] = [
    (
        StudyStarted(CELLS, ("a", "b"), 154.0, (), "a 7B model on one GPU"),
        "셀 4개, 조건 a, b, 약 2분 34초(GPU 한 장의 7B 모델 기준)",
    ),
    (StudyStarted((), ("a", "b"), budget_s=7500.0), "a, b 탐색, 최대 2시간 05분"),
    (ArmStarting("a"), "a: 서버 기동 중"),
    (ArmReady("a", 72.0, ""), "a: 1분 12초 만에 준비"),
    (ArmReady("a", None, ""), "a: 이미 실행 중"),
    (WarmingUp("a"), "a: 워밍업 중"),
    (CellStarted(CELLS[0], 64), "a  c1    시작, 요청 64건"),
    (CellProgress(12, 3, 64, 640, 2.0), "요청 12/64건(3건 실패)  320 tok/s"),
    (CellFinished(ENDED, 20.5, 312.0), "a  c1          요청 64건     312 tok/s  TPOT  20.5 ms"),
    (
        CellFinished(replace(ENDED, failed=2), 20.5, 312.0),
        "a  c1          요청 64건     312 tok/s  TPOT  20.5 ms  2건 실패",
    ),
    (StudyFinished(interrupted=False), "완료"),
    (StudyFinished(interrupted=True), "중단됨. 끝난 것은 남아 있습니다"),
    (Notice("a: its quality is not known: HTTP 500"), "a: 품질을 알 수 없음: HTTP 500"),
    (Notice("a: asking for the quality of its answers"), "a: 답변 품질을 묻는 중"),
    (Notice("a: pod x-0 is gone"), "a: 파드 x-0이 사라졌습니다"),
    (Notice("CUDA error: out of memory"), "CUDA error: out of memory"),
    (
        Decision("next: a, b at 1, 8: coarse sweep; 90 s of the budget left"),
        "다음: a, b, 부하 1, 8: 거친 탐색. 남은 예산 90초",
    ),
    (
        Decision("the search ends: the budget is spent, after 61 s, 12 of them in starts and warm-up"),
        "탐색 종료: 예산을 다 씀, 61초 사용, 그중 서버 기동과 워밍업 12초",
    ),
]


def lines_of(study_cells: tuple[Cell, ...], *, panel_width: int | None = None) -> list[str]:
    clock, file = Time(), io.StringIO()
    console = Console(file=file, width=panel_width or 80, force_terminal=panel_width is not None, no_color=True)
    with listener(console, clock=clock, spoken=KOREAN) as progress:
        for event in study(clock, study_cells):
            progress(event)
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", file.getvalue()).splitlines()


def test_there_is_an_example_of_every_event() -> None:
    assert {type(event) for event, _ in SAID} == set(get_args(Event))


@pytest.mark.parametrize(("event", "expected"), SAID)
def test_an_event_is_said_in_korean(event: Event, expected: str) -> None:
    said = EventLines(KOREAN)
    said.follow(StudyStarted(CELLS, ("a", "b")))

    assert said.line(event) == expected


def test_every_end_of_a_cell_takes_the_same_columns() -> None:
    said = EventLines(KOREAN)
    ends = [
        said.line(CellFinished(replace(ENDED, state=state, requests=requests), 20.5, 312.0))
        for state in get_args(CellState)
        for requests in (None, 8, 12345)
    ]

    assert {cell_len(line[: line.index("TPOT")]) for line in ends} == {cell_len(ends[0][: ends[0].index("TPOT")])}


def test_arms_with_korean_names_are_padded_by_their_columns() -> None:
    names = {"a": "양자화", "b": "w4a16-gptq"}
    cells = tuple(replace(cell, arm=names[cell.arm]) for cell in CELLS)
    said = EventLines(KOREAN)
    said.follow(StudyStarted(cells, tuple(names.values())))

    assert len({cell_len(said.name(cell)) for cell in cells}) == 1


def test_a_log_has_no_english_sentence() -> None:
    for line in lines_of(CELLS):
        assert set(re.findall("[A-Za-z]{2,}", line)) <= {"tok", "TPOT", "ms", "kv", "cache", "tokens"}, line


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_no_line_of_the_panel_is_wider_than_the_terminal(width: int) -> None:
    long = tuple(replace(cell, arm=f"{cell.arm}-조건-이름이-긴-w4a16-gptq") for cell in CELLS)

    for line in lines_of(long if width > 80 else CELLS, panel_width=width):
        assert cell_len(line) <= width, line
