"""The limit of open files against a study's largest load, before anything starts."""

import resource
from collections.abc import Iterator
from typing import Any

import pytest

from whichbits.conduct.open_files import insist_on_open_files, open_files_needed, raise_open_files
from whichbits.errors import BadInput
from whichbits.study.model import Study

URLS = ["http://127.0.0.1:1", "http://127.0.0.1:2"]


def study(loads: Any, *, workers: Any = 1, arm: dict[str, Any] | None = None, **keys: Any) -> Study:
    return Study.model_validate(
        {
            "name": "wide",
            "arms": {"a": {"weight_format": "fp16", "model": "m", **(arm or {})}},
            "traffic": {"kind": "chat"},
            "loads": loads,
            "client": {"workers": workers},
            **keys,
        }
    )


@pytest.mark.parametrize(
    ("asked", "connections"),
    [
        (study([1, 900]), 900),
        (study([1, 900], workers=3), 900),  # the server still has all of them
        (study([900], workers=3, arm={"target": {"urls": URLS[:1]}}), 300),
        (study([900], cell={"requests": 50}), 50),
        (study("auto"), 256),
        (study([{"request_rate": 10}]), 40),
        (study([{"request_rate": 1e308}]), 1000),
        (study([{"request_rate": 10, "concurrency": 300}]), 300),
        # Each of two replicas may have to hold all 100 that are in flight, if the plan says so.
        (study([100], arm={"target": {"urls": URLS}}), 200),
        (study([100], arm={"target": {"urls": URLS}, "balance": "least_outstanding"}), 100),
    ],
)
def test_what_the_largest_load_needs(asked: Study, connections: int) -> None:
    assert open_files_needed(asked) == connections + 64


@pytest.fixture
def limits() -> Iterator[tuple[int, int]]:
    """The limits as they are, set back afterwards."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield before
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_the_soft_limit_is_raised_and_said(limits: tuple[int, int]) -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, limits[1]))
    raised = raise_open_files(study([300]))

    assert str(raised) == "the limit of open files was raised from 256 to 728"
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == 728
    assert raise_open_files(study([300])) is None


def test_a_hard_limit_that_is_too_low_is_said_before_anything_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, 512))
    insist_on_open_files(study([400]))
    with pytest.raises(BadInput, match="needs 564 open files in one process, and 512 are allowed") as caught:
        insist_on_open_files(study([500]))
    assert caught.value.code == "open_files_too_few"
