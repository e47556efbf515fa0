"""The study's ``client``: what sends the requests."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from whichbits.study.search import EITHER, Value, Word
from whichbits.study.strict import Strict

MOST_WORKERS = 1024
"""More processes than any one machine has cores for: a slip of the finger, not a wish."""

Workers = Annotated[Annotated[int, Field(ge=1, le=MOST_WORKERS), Value] | Annotated[Literal["auto"], Word], EITHER]

RayAddress = Annotated[str, StringConstraints(pattern=r"^(auto|[^\s:/]+:[0-9]+)$")]


class ClientPlan(Strict):
    """Who sends the requests of a cell."""

    workers: Workers = Field(
        default="auto",
        description="Processes that send, each a share; `auto`: one for every 512 streams or 500 requests/s, and no "
        "more than there are cores to spare.",
    )
    ray: RayAddress | None = Field(
        default=None,
        description="Spread the workers over the machines of a Ray cluster: `auto` for the one of this machine, or its "
        "head as `host:port`. Needs the extra `ray`.",
    )
