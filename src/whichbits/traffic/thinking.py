"""How long people think between an answer and their next question."""

import numpy as np

from whichbits.study.drawn_traffic import SessionsTraffic
from whichbits.study.recorded_traffic import ShareGptTraffic
from whichbits.traffic.draws import Draws, Floats


def think_ns(traffic: SessionsTraffic | ShareGptTraffic, draws: Draws, count: int) -> list[int]:
    """Return ``count`` think times whose distribution has the mean that the study asks, in nanoseconds."""
    mean = traffic.think_seconds
    match traffic.think:
        case "constant":
            seconds = np.full(count, mean)
        case "exponential":
            seconds = mean * draws.exponential(count)
        case "log_normal":
            seconds = mean * _log_normal(draws, count, traffic.think_sigma)
    return [int(each) for each in seconds * 1e9]


def _log_normal(draws: Draws, count: int, sigma: float) -> Floats:
    """Return log-normal numbers of mean 1: exp(sigma z - sigma²/2)."""
    return np.exp(sigma * draws.normal(count) - sigma**2 / 2)
