"""The host's facts are of stable types, and what a machine does not say is None."""

import msgspec
import pytest

from whichbits.conduct import host
from whichbits.conduct.host import host_facts, tool_versions
from whichbits.hardware.container import ContainerLimits


class Facts(msgspec.Struct, forbid_unknown_fields=True):
    cpu: str | None
    cores: int
    cpu_quota_cores: float | None
    memory_gib: float
    memory_limit_gib: float | None
    open_files_limit: int | None
    cpu_flags: list[str]
    kernel: str
    system: str
    load_average_1min: float
    gpus: list[dict[str, str]]


def test_facts_survive_json() -> None:
    facts = msgspec.json.decode(msgspec.json.encode(host_facts()), type=Facts)

    assert facts.cores >= 1
    assert facts.memory_gib > 0


def test_limits_of_a_container_are_facts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "container_limits", lambda: ContainerLimits(memory=2**30, processors=1.5))
    facts = host_facts()

    assert (facts["cpu_quota_cores"], facts["memory_limit_gib"]) == (1.5, 1.0)


def test_versions_name_what_carries_the_measurement_and_nothing_that_is_not_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(host, "_TOOLS", ("numpy", "no-such-package"))

    assert set(tool_versions()) == {"python", "numpy"}
