"""How far two servers' distributions of one token are apart, by the likeliest tokens that each of them told."""

import math
from collections.abc import Mapping

_LEAST_TOLD = 2
_ROUNDING = 1e-7
"""What all told tokens leave of the probability is not known better than this: servers send 32-bit floats."""


def kl_lower_bound(reference: Mapping[str, float], arm: Mapping[str, float]) -> float | None:
    """Return a lower bound of KL(reference || arm) in nats from log-probabilities by token; None if too little is told.

    Tokens that both told stand alone, all others are one bucket: merging outcomes never raises a KL divergence (the
    log sum inequality; Cover and Thomas, Elements of Information Theory, theorem 2.7.1). Never below zero.
    """
    if min(len(reference), len(arm)) < _LEAST_TOLD:
        return None
    shared = reference.keys() & arm.keys()
    p = {key: math.exp(reference[key]) for key in shared}
    told = sum(p[key] * (reference[key] - arm[key]) for key in shared if p[key] > 0)
    rest = 1 - sum(p.values())
    rest_arm = 1 - sum(math.exp(arm[key]) for key in shared)
    if rest <= _ROUNDING:
        return max(0.0, told)
    return max(0.0, told + rest * math.log(rest / max(rest_arm, _ROUNDING)))


def agree(reference: Mapping[str, float], arm: Mapping[str, float]) -> bool | None:
    """Say whether both find the same token likeliest; one of several equally likely ones suffices. None if not told."""
    if min(len(reference), len(arm)) < _LEAST_TOLD:
        return None
    return not _likeliest(reference).isdisjoint(_likeliest(arm))


def _likeliest(told: Mapping[str, float]) -> set[str]:
    most = max(told.values())
    return {key for key, logprob in told.items() if logprob == most}
