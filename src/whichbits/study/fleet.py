"""The study's ``plan``: which GPUs may be had at which price, and what a day asks of the fleet."""

from typing import Self

from pydantic import Field, NonNegativeFloat, PositiveFloat, PositiveInt, model_validator

from whichbits.study.strict import Strict


class OfferedGpu(Strict):
    """A GPU that may be had by the hour."""

    price_per_hour: PositiveFloat = Field(description="Price of one for an hour, in any one currency.")
    at_most: PositiveInt | None = Field(default=None, description="No more than this many at once.")


class Day(Strict):
    """Requests per second over a day: 24 rates, or a peak with a smooth curve; the trace's own without either."""

    rates: tuple[NonNegativeFloat, ...] | None = Field(default=None, description="Requests/s of each of 24 hours.")
    peak: PositiveFloat | None = Field(default=None, description="Requests/s of the busiest hour.")
    trough: float = Field(default=0.25, ge=0, le=1, description="Share of the peak in the quietest hour.")
    peak_hour: int = Field(default=14, ge=0, le=23, description="Which hour is the busiest.")
    growth: PositiveFloat = Field(default=1.0, description="Factor on every rate: 1.5 plans for half as much again.")

    @model_validator(mode="after")
    def _one_curve(self) -> Self:
        if self.rates is not None and self.peak is not None:
            message = "a day is either 24 rates or a peak"
            raise ValueError(message)
        if self.rates is not None and len(self.rates) != 24:
            message = f"a day has 24 rates, not {len(self.rates)}"
            raise ValueError(message)
        if self.rates is not None and not any(self.rates):
            message = "a day without a request needs no fleet"
            raise ValueError(message)
        return self


class FleetPlan(Strict):
    """What `whichbits plan` is asked; arms are the formats, and the study's slo is what a request must hold."""

    gpus: dict[str, OfferedGpu] = Field(min_length=1, description="What may be rented, by the GPU's name.")
    day: Day = Field(default=Day(), description="Requests over a day.")
    trace: str | None = Field(
        default=None, description="A BurstGPT or Azure trace: lengths of requests, and the day's curve."
    )
    slo_share: float = Field(default=0.99, gt=0, le=1, description="Share of requests that must hold the slo.")
    headroom: float = Field(default=0.2, ge=0, lt=1, description="Share of each replica's capacity left unused.")
    tensor_parallel: tuple[PositiveInt, ...] = Field(
        default=(1,), min_length=1, description="GPUs a replica, to try one after the other."
    )
    at_least: PositiveInt = Field(default=1, description="Never fewer replicas in all, even at night.")
