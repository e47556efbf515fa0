"""Step times for tests: simple, and unlike enough that a term left out would show."""

from whichbits.predict.simulation.pace import Pace


def simple_pace(token_turn: float = 0.0, request_in: float = 0.003, loop_turns: float = 0.0) -> Pace:
    """Return a pace for up to 600 tokens a step."""
    return Pace(
        decode=[0.010 + 0.0003 * batch for batch in range(601)],
        mixed=[0.012 + 0.0001 * tokens for tokens in range(1200)],
        head=[0.0002 * sampled for sampled in range(601)],
        per_kv_token=3e-6,
        per_attended_pair=1e-7,
        per_prefill_kv_token=2e-6,
        request_in=request_in,
        request_turn=0.0005,
        token_turn=token_turn,
        loop_turns=loop_turns,
        token_out=0.001,
    )
