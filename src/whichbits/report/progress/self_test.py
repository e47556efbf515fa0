"""The self-test on a terminal: a line a rung as it comes, and the limit in words."""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from whichbits.conduct.self_test.ladder import Climb
from whichbits.conduct.self_test.result import sentences, verdicts_right
from whichbits.conduct.self_test.rung import Judgement, Rung
from whichbits.report.wording import MISSING, VERDICTS, number

_WIDTHS = (7, 7, 9, 9, 9, 9, 9, 8, 9)
_HEADINGS = (
    ("cadence", "streams", "tokens/s", "ITL error", "", "TTFT err", "CPU", "mock", "client"),
    ("", "", "", "p50 ms", "p99 ms", "p99 ms", "us/token", "late ms", ""),
)
_JUDGED: dict[Judgement, str] = {
    "exact": "exact",
    "coarse": "coarse",
    "late": "too late",
    "limited": "",
    "mock_late": "the mock was late: not counted",
    "failed": "requests failed",
}


def print_heading(console: Console) -> None:
    """Print the columns' names."""
    for names in _HEADINGS:
        console.print(Text(_line(names), style="dim"), soft_wrap=True)


def print_rung(rung: Rung, console: Console) -> None:
    """Print one rung."""
    errors = rung.errors
    numbers = (
        (MISSING,) * 3
        if errors is None
        else tuple(f"{value:.2f}" for value in (errors.itl_p50, errors.itl_p99, errors.ttft_p99))
    )
    cells = (
        rung.cadence,
        str(rung.streams),
        f"{rung.tokens_per_s:.0f}",
        *numbers,
        number(rung.cpu_us_per_token),
        f"{rung.mock_lag_p99_ms:.2f}",
        VERDICTS[rung.verdict],
    )
    said = [_JUDGED[rung.judgement], *([] if rung.verdict_right else ["the client called itself ok, and was not"])]
    line = f"{_line(cells)}  {'; '.join(filter(None, said))}".rstrip()
    console.print(Text(line, style="" if rung.holds else "yellow"), soft_wrap=True)


def print_result(climbs: Sequence[Climb], console: Console) -> None:
    """Print the limits and whether the client's verdicts were right."""
    console.print()
    for sentence in sentences(climbs):
        console.print(Text(sentence, style="bold"), soft_wrap=True)
    right = "Its own verdicts were right: it called itself ok only where it was."
    wrong = "Its own verdict was wrong above: do not rely on it on this machine."
    console.print(Text(right if verdicts_right(climbs) else wrong, style="" if verdicts_right(climbs) else "red"))


def _line(cells: Sequence[str]) -> str:
    return " ".join(f"{cell:>{width}}" for cell, width in zip(cells, _WIDTHS, strict=True))
