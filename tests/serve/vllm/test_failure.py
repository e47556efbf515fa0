"""What a dead vLLM died of."""

from whichbits.serve.vllm.engine import VllmEngine

SHUTDOWN = "INFO:     Application shutdown complete.\nINFO:     Finished server process [31685]\n"
GONE = "WARNING 11-29 21:18:01 [core_client.py:817] [shutdown] MPClient: engine core exited unexpectedly; cleanup\n"
DEAD = (
    "ERROR 11-29 21:18:01 [vllm_error.py:54] vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an "
    "issue. See stack trace (above) for the root cause.\n"
)


def test_an_engine_core_that_was_killed_is_named_in_place_of_what_followed() -> None:
    told = VllmEngine().failure(GONE + DEAD + SHUTDOWN)

    assert told is not None
    assert told.startswith("[shutdown] MPClient: engine core exited unexpectedly")
    assert "out of memory" in told


def test_a_cause_comes_before_the_disappearance() -> None:
    cause = "ERROR 11-29 21:18:00 [core.py:1] RuntimeError: CUDA out of memory. Tried to allocate 3 GiB.\n"

    assert VllmEngine().failure(cause + GONE + DEAD) == "RuntimeError: CUDA out of memory. Tried to allocate 3 GiB."


def test_an_orderly_end_has_no_cause() -> None:
    assert VllmEngine().failure(SHUTDOWN) is None
