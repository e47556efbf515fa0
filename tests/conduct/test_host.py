"""The host's facts are of stable types, and what a machine does not say is None."""

import msgspec
import pytest

from whichbits.conduct import host
from whichbits.conduct.host import host_facts, tool_versions


class Facts(msgspec.Struct, forbid_unknown_fields=True):
    cpu: str | None
    cores: int
    cpu_quota_cores: float | None
    memory_gib: float
    memory_limit_gib: float | None
    cpu_flags: list[str]
    kernel: str
    system: str
    load_average_1min: float
    gpus: list[dict[str, str]]


def test_facts_survive_json() -> None:
    facts = msgspec.json.decode(msgspec.json.encode(host_facts()), type=Facts)

    assert facts.cores >= 1
    assert facts.memory_gib > 0


@pytest.mark.parametrize(
    ("quota", "memory", "expected"),
    [("150000 100000", "1073741824", (1.5, 1.0)), ("max 100000", "max", (None, None)), ("", "", (None, None))],
)
def test_limits_of_a_container_are_read_and_no_limit_is_none(
    monkeypatch: pytest.MonkeyPatch, quota: str, memory: str, expected: tuple[float | None, float | None]
) -> None:
    files = {"/sys/fs/cgroup/cpu.max": quota, "/sys/fs/cgroup/memory.max": memory}
    monkeypatch.setattr(host, "_text", lambda path: files.get(path, ""))
    facts = host_facts()

    assert (facts["cpu_quota_cores"], facts["memory_limit_gib"]) == expected


def test_versions_name_what_carries_the_measurement_and_nothing_that_is_not_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(host, "_TOOLS", ("numpy", "no-such-package"))

    assert set(tool_versions()) == {"python", "numpy"}
