"""Fixtures that several rooms' tests share."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# A busy machine is slow, which is no fault of what is tested, and a run that passed passes again.
settings.register_profile("tests", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
# Other examples each time, to look for faults: pytest --hypothesis-profile=search
settings.register_profile("search", deadline=None, derandomize=False, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tests")


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A GGUF file of a tiny llama with random weights, in 16 bits."""
    from tests.serve.embedded.tiny_model import write_tiny_model

    return write_tiny_model(tmp_path_factory.mktemp("tiny") / "tiny.gguf")
