"""What the doctor said, as people read it: the worst first, what is shared said once, 80 columns."""

import io
import json

from rich.console import Console

from whichbits.doctor.diagnosis import Diagnosis, good, unknown
from whichbits.report.examination import examination_json, print_examination

LONG = "a reason of many words that would never fit within eighty columns of a terminal and has to be wrapped somewhere"
SAID = [
    good("disk", "/runs", "58 GiB free"),
    Diagnosis("gpu_mig", "note", "GPU 0", "MIG is on", why="parts", fix="read with care"),
    Diagnosis("hub_unreachable", "problem", "arm a", "m1 cannot be fetched", why=LONG, fix="fetch it"),
    unknown("imports", "/p", "did not end"),
    Diagnosis("hub_unreachable", "problem", "arm b", "m2 cannot be fetched", why=LONG, fix="fetch it"),
]


def printed(said: list[Diagnosis]) -> list[str]:
    file = io.StringIO()
    print_examination(said, Console(file=file, width=80))
    return file.getvalue().splitlines()


def test_the_worst_first_and_what_is_shared_once() -> None:
    assert printed(SAID) == [
        "problem  arm a: m1 cannot be fetched",
        "         arm b: m2 cannot be fetched",
        "why      a reason of many words that would never fit within eighty columns of a",
        "         terminal and has to be wrapped somewhere",
        "do       fetch it",
        "code     hub_unreachable",
        "",
        "note     GPU 0: MIG is on",
        "why      parts",
        "do       read with care",
        "code     gpu_mig",
        "",
        "?        /p: did not end",
        "",
        "ok       /runs: 58 GiB free",
        "",
        "1 problem, 1 note",
    ]


def test_a_hostile_name_cannot_write_to_the_terminal() -> None:
    assert "\x1b" not in "\n".join(printed([good("arm", "arm \x1b[31m", "fits [bold]x[/bold]")]))
    assert "[bold]x[/bold]" in "\n".join(printed([good("arm", "a", "fits [bold]x[/bold]")]))


def test_json_has_all_of_it() -> None:
    told = json.loads(examination_json(SAID))
    assert told["schema_version"] == 1
    assert told["counts"] == {"problem": 2, "note": 1, "unknown": 1, "good": 1}
    assert told["diagnoses"][0] == {
        "code": "disk",
        "state": "good",
        "subject": "/runs",
        "found": "58 GiB free",
        "why": None,
        "fix": None,
    }
