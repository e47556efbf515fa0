"""How long the steps of an engine take, as tables that a simulation reads in no time."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Idle:
    """Of the durations of the same names in ``Pace``, the part in which the GPU waits for its host."""

    decode: Sequence[float]
    mixed: Sequence[float]
    head: Sequence[float]


@dataclass(frozen=True)
class Pace:
    """Durations in seconds. Tables are indexed by a number of tokens or of requests, from 0.

    A decode step of ``b`` requests with ``kv`` tokens in the cache takes ``decode[b] + per_kv_token * kv``. A step with
    a prefill takes ``mixed[tokens]`` for all its tokens, ``head[s]`` for the ``s`` that are sampled, and attention.
    """

    decode: Sequence[float]
    mixed: Sequence[float]
    head: Sequence[float]
    per_kv_token: float
    per_attended_pair: float
    """Attention of prefill: one new token that looks at one token."""
    per_prefill_kv_token: float
    """What reading one earlier token of its own context costs a chunk."""
    request_in: float
    """From the client's send to the engine's queue, for one request alone."""
    request_turn: float
    """What a request takes of the front end's time, during which no other comes through."""
    token_turn: float
    """What handing out one token takes of the front end's time."""
    loop_turns: float
    """Turns of its event loop that a request needs on its way in; in each it waits behind the tokens of a step."""
    token_out: float
    """From the end of a step to the client's read."""
    idle: Idle | None = None
    """Known where servers share a GPU, which then works for another."""
