"""Fixtures that several rooms' tests share."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# A busy machine is slow, which is no fault of what is tested, and a run that passed passes again.
settings.register_profile("tests", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
# Other examples each time, to look for faults: pytest --hypothesis-profile=search
settings.register_profile("search", deadline=None, derandomize=False, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tests")

_OF_A_TERMINAL = ("COLUMNS", "LINES", "FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "WHICHBITS_LANG")


@pytest.fixture(scope="session", autouse=True)
def plain_surroundings() -> Iterator[None]:
    """What somebody has set for a terminal of theirs has no part in what is tested."""
    with pytest.MonkeyPatch.context() as patch:
        for name in _OF_A_TERMINAL:
            patch.delenv(name, raising=False)
        yield


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A GGUF file of a tiny llama with random weights, in 16 bits."""
    from tests.serve.embedded.tiny_model import write_tiny_model

    return write_tiny_model(tmp_path_factory.mktemp("tiny") / "tiny.gguf")
