"""A real vLLM on the processor, and the study files that serve with it."""

import os
from pathlib import Path

import pytest

from tests.vllm.tiny_qwen2 import write_tiny_qwen2

_ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def vllm_python() -> Path:
    """The interpreter that has vLLM: ``make test-vllm`` makes one."""
    found = Path(os.environ.get("WHICHBITS_VLLM_PYTHON") or _ROOT / ".venv-vllm/bin/python")
    if not found.exists():
        pytest.fail(f"{found} is not there: run `make test-vllm`, or set WHICHBITS_VLLM_PYTHON")
    return found


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_qwen2(tmp_path_factory.mktemp("models") / "tiny-qwen2")
