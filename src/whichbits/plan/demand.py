"""What comes: a day's rates, and a sample of requests that a simulated replica is tried with."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from whichbits.errors import BadInput
from whichbits.plan.day import hourly_rates
from whichbits.predict.playable import refuse_unplayable
from whichbits.predict.simulation.workload import Workload
from whichbits.study.arrivals import ConstantArrivals, GammaArrivals, PoissonArrivals
from whichbits.study.fleet import FleetPlan
from whichbits.study.model import CellSize, Load, Study
from whichbits.study.recorded_traffic import RunTraffic
from whichbits.study.traffic import has_turns, shared_prefix_tokens
from whichbits.traffic.draws import Draws
from whichbits.traffic.plan import plan_cell
from whichbits.traffic.traces import Arrival, read_trace_table

_STEADY = (ConstantArrivals, PoissonArrivals, GammaArrivals)

SAMPLE = 2000
"""Requests a trial sends: at a share of 99 %, twenty of them may miss the SLO."""


@dataclass(frozen=True)
class Demand:
    """A day and its requests. ``sample`` arrives at one request per second; ``at`` brings it to another rate."""

    hourly: tuple[float, ...]
    sample: Workload

    @property
    def requests_per_day(self) -> float:
        """All requests of a day."""
        return 3600 * sum(self.hourly)

    @property
    def mean_output_tokens(self) -> float:
        """Mean length of an answer."""
        return sum(self.sample.output_tokens) / len(self.sample)


def at(sample: Workload, rate: float) -> Workload:
    """Return the same requests in the same order with the same gaps, shrunk to ``rate`` requests per second."""
    return replace(sample, offset_s=[offset / rate for offset in sample.offset_s or ()])


def demand_of(study: Study, plan: FleetPlan, size: int = SAMPLE) -> Demand:
    """Return the day and a sample of ``size`` requests that a study asks for.

    Raises:
        BadInput: ``trace_unusable``, or ``day_unknown``.
    """
    arrivals = [] if plan.trace is None else _arrivals(Path(plan.trace))
    hourly = hourly_rates(plan.day, [arrival.at_s for arrival in arrivals])
    return Demand(hourly, _like(arrivals, study.seed, size) if arrivals else _drawn(study, size))


def _drawn(study: Study, size: int) -> Workload:
    """Return requests of the study's traffic, as a cell at one request per second would send them."""
    _refuse_unplanned(study)
    refuse_unplayable(study)
    # A day has a rate of its own: patterns that change it within a cell are not played on top.
    arrivals = study.arrivals if isinstance(study.arrivals, _STEADY) else PoissonArrivals(kind="poisson")
    sized = study.model_copy(update={"cell": CellSize(requests=size), "arrivals": arrivals})
    work = Workload.of(plan_cell(sized, Load(request_rate=1.0), 0), shared_prefix_tokens(study.traffic))
    return replace(work, head=())


def _refuse_unplanned(study: Study) -> None:
    if has_turns(study.traffic):
        raise BadInput(
            "traffic_not_planned",
            "a fleet cannot be planned for sessions of several turns",
            why="a day's rates are those of requests, and later turns come when people have thought",
            fix="plan for single requests of the same lengths, or predict sessions at the loads you expect",
        )
    if isinstance(study.traffic, RunTraffic):
        raise BadInput(
            "traffic_not_planned",
            "a fleet cannot be planned for the requests of a run",
            why="a replay has the run's own loads; a day has others",
            fix="name the traffic that the run had, or a trace in `plan`",
        )


def _like(arrivals: list[Arrival], seed: int, size: int) -> Workload:
    """Return requests with lengths drawn from a trace, prompt and answer together, and Poisson arrivals."""
    chosen = [arrivals[at] for at in Draws(seed, "plan", "trace").integers(0, len(arrivals), size).tolist()]
    offsets = np.cumsum(Draws(seed, "plan", "arrivals").exponential(size)).tolist()
    return Workload(
        index=range(size),
        prompt_tokens=[arrival.prompt_tokens for arrival in chosen],
        output_tokens=[arrival.output_tokens for arrival in chosen],
        prefix=[-1] * size,
        prefix_tokens=0,
        offset_s=offsets,
    )


def _arrivals(path: Path) -> list[Arrival]:
    try:
        trace = read_trace_table(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        trace = None
    if trace is None or not trace.arrivals:
        raise BadInput(
            "trace_unusable",
            f"no request can be read from the trace {path}",
            why="the file is missing, or is no table with the columns of BurstGPT or Azure",
            fix="look at it with `whichbits inspect`, or leave `trace` out",
        )
    return trace.arrivals
