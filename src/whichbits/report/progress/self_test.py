"""The self-test on a terminal: a line a rung as it comes, and the limit in words."""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from whichbits.conduct.self_test.ladder import Climb
from whichbits.conduct.self_test.result import sentences, verdicts_right
from whichbits.conduct.self_test.rung import Judgement, Rung
from whichbits.language.language import Language
from whichbits.language.phrase import phrase
from whichbits.language.recognition import tell
from whichbits.report.lines import set_right
from whichbits.report.wording import MISSING, VERDICTS, number

_WIDTHS = (7, 7, 9, 9, 9, 9, 9, 8, 9)
_HEADINGS = (
    (
        phrase("cadence"),
        phrase("streams"),
        "tokens/s",
        phrase("ITL error"),
        "",
        phrase("TTFT err"),
        "CPU",
        "mock",
        phrase("client"),
    ),
    ("", "", "", "p50 ms", "p99 ms", "p99 ms", "us/token", phrase("late ms"), ""),
)
_JUDGED: dict[Judgement, str] = {
    "exact": phrase("exact"),
    "coarse": phrase("coarse"),
    "late": phrase("too late"),
    "limited": "",
    "mock_late": phrase("the mock was late: not counted"),
    "failed": phrase("requests failed"),
}


def print_heading(console: Console, spoken: Language) -> None:
    """Print the columns' names."""
    for names in _HEADINGS:
        console.print(Text(_line(spoken.say_all(names)), style="dim"), soft_wrap=True)


def print_rung(rung: Rung, console: Console, spoken: Language) -> None:
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
        spoken.say(VERDICTS[rung.verdict]),
    )
    said = [
        _JUDGED[rung.judgement],
        *([] if rung.verdict_right else [phrase("the client called itself ok, and was not")]),
    ]
    line = f"{_line(cells)}  {'; '.join(filter(None, spoken.say_all(said)))}".rstrip()
    console.print(Text(line, style="" if rung.holds else "yellow"), soft_wrap=True)


def print_result(climbs: Sequence[Climb], console: Console, spoken: Language) -> None:
    """Print the limits and whether the client's verdicts were right."""
    console.print()
    for sentence in sentences(climbs):
        console.print(Text(tell(sentence, spoken), style="bold"), soft_wrap=True)
    right = phrase("Its own verdicts were right: it called itself ok only where it was.")
    wrong = phrase("Its own verdict was wrong above: do not rely on it on this machine.")
    told, style = (right, "") if verdicts_right(climbs) else (wrong, "red")
    console.print(Text(spoken.say(told), style=style))


def _line(cells: Sequence[str]) -> str:
    return " ".join(set_right(cell, width) for cell, width in zip(cells, _WIDTHS, strict=True))
