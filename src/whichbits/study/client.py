"""The study's ``client``: what sends the requests."""

from typing import Annotated, Literal

from pydantic import Field, PositiveInt

from whichbits.study.search import EITHER, Value, Word
from whichbits.study.strict import Strict

Workers = Annotated[Annotated[PositiveInt, Value] | Annotated[Literal["auto"], Word], EITHER]


class ClientPlan(Strict):
    """Who sends the requests of a cell."""

    workers: Workers = Field(
        default="auto",
        description="Processes that send, each a share; `auto`: one for every 512 streams or 500 requests/s, and no "
        "more than there are cores to spare.",
    )
