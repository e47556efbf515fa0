"""A point of the sweep: streams, a rate, or both; and its name."""

from typing import Any, Protocol, Self

from pydantic import Field, PositiveFloat, PositiveInt, model_validator

from whichbits.study.strict import Strict


class Loaded(Protocol):
    """Whatever was under a load."""

    @property
    def concurrency(self) -> int | None:
        """Streams; with a rate, the most in flight."""
        ...

    @property
    def request_rate(self) -> float | None:
        """Requests per second."""
        ...


def load_name(concurrency: int | None, request_rate: float | None) -> str:
    """Return a load as people write it: ``c16``, ``10/s``, ``10/s cap 32``, or that no file tells it."""
    if request_rate is None:
        return "untold" if concurrency is None else f"c{concurrency}"
    return f"{request_rate:g}/s" + ("" if concurrency is None else f" cap {concurrency}")


class Load(Strict):
    """One point of the sweep: a concurrency (closed loop), a request rate (open loop), or a rate with a cap."""

    concurrency: PositiveInt | None = Field(default=None, description="Streams; with a rate, the most in flight.")
    request_rate: PositiveFloat | None = Field(default=None, description="Requests per second, on average.")

    @model_validator(mode="before")
    @classmethod
    def _a_plain_number_is_a_concurrency(cls, value: Any) -> Any:
        return {"concurrency": value} if isinstance(value, int) and not isinstance(value, bool) else value

    @model_validator(mode="after")
    def _something_is_set(self) -> Self:
        if self.concurrency is None and self.request_rate is None:
            message = "a load needs a concurrency, a request_rate, or both"
            raise ValueError(message)
        return self

    @classmethod
    def of(cls, cell: Loaded) -> Self:
        """Return the load of a cell, in whichever form it is recorded."""
        return cls(concurrency=cell.concurrency, request_rate=cell.request_rate)

    def __str__(self) -> str:
        """Return the load as people write it."""
        return load_name(self.concurrency, self.request_rate)
