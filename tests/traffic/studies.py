"""Studies of any traffic and the plans they lead to, for the tests of this room."""

from pathlib import Path
from typing import Any

from whichbits.study.model import Load, Study
from whichbits.study.read import quickstart
from whichbits.traffic.plan import PlannedRequest, plan_cell

WORDS = {"api": "chat", "prompt": "text"}


def study(traffic: dict[str, Any], **more: Any) -> Study:
    return Study.model_validate(quickstart().model_dump(mode="json") | {"traffic": traffic} | more)


def planned(traffic: dict[str, Any], count: int, *, repeat: int = 0, **more: Any) -> list[PlannedRequest]:
    """The requests of one cell of ``count``, in a closed loop unless a ``rate`` is given."""
    rate = more.pop("rate", None)
    load = Load(concurrency=4) if rate is None else Load(request_rate=rate)
    return plan_cell(study(traffic, cell={"requests": count}, **more), load, repeat)


def file_of(folder: Path, text: str, name: str = "data.json") -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)
