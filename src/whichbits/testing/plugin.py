"""The pytest plugin: the fixture ``whichbits_run``, its marker and its options. Loaded by every pytest, so it is small.

Source of the hooks: https://docs.pytest.org/en/stable/how-to/writing_plugins.html
"""

from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from whichbits.testing.gated_run import GatedRun
    from whichbits.testing.studies import Studies

_MARKER = "whichbits(run=None, study=None, baseline=None): which run `whichbits_run` opens, or study it measures"
_WORDS = ("run", "study", "baseline")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--whichbits-run`` and ``--whichbits-baseline``, for what a marker leaves open."""
    group = parser.getgroup("whichbits", "performance gates")
    group.addoption("--whichbits-run", metavar="PATH", help="run folder or result file that is tested")
    group.addoption("--whichbits-baseline", metavar="PATH", help="what its limits are held against")


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known, so that --strict-markers accepts it."""
    config.addinivalue_line("markers", _MARKER)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Show what whichbits refuses in a test as its message, which says what to do, without our frames."""
    try:
        return (yield)
    except Exception as error:
        if "whichbits_run" in getattr(item, "fixturenames", ()) and _is_refusal(error):
            raise pytest.fail.Exception(str(error), pytrace=False) from None
        raise


def _is_refusal(error: Exception) -> bool:
    from whichbits.errors import WhichbitsError

    return isinstance(error, WhichbitsError)


@pytest.fixture(scope="session")
def whichbits_studies(tmp_path_factory: pytest.TempPathFactory) -> "Studies":
    """Each study that tests name is measured once a session."""
    from whichbits.testing.studies import Studies

    return Studies(tmp_path_factory.mktemp("whichbits"))


@pytest.fixture
def whichbits_run(request: pytest.FixtureRequest) -> "GatedRun":
    """Return the run that the test's marker names, or the options: opened, or measured now."""
    from whichbits.testing.gated_run import GatedRun

    asked = _asked(request)
    if asked["study"] is not None:
        studies: Studies = request.getfixturevalue("whichbits_studies")
        return GatedRun(_measured(studies, asked["study"]), asked["baseline"])
    if asked["run"] is None:
        pytest.fail(
            "no run is named: @pytest.mark.whichbits(run=...) or (study=...), or --whichbits-run", pytrace=False
        )
    return GatedRun(asked["run"], asked["baseline"])


def _measured(studies: "Studies", study: Path) -> Path:
    try:
        return studies.measured(study)
    except RuntimeError as error:
        raise pytest.fail.Exception(str(error), pytrace=False) from None


def _asked(request: pytest.FixtureRequest) -> dict[str, Path | None]:
    """Return what the marker says, and where it says nothing, the options; paths count from pytest's root folder."""
    marker = request.node.get_closest_marker("whichbits")
    told: dict[str, Any] = {} if marker is None else dict(marker.kwargs)
    if unknown := told.keys() - set(_WORDS):
        pytest.fail(f"the marker `whichbits` does not know {', '.join(sorted(unknown))}", pytrace=False)
    if marker is not None and marker.args:
        pytest.fail(f"the marker `whichbits` takes words only, such as run={marker.args[0]!r}", pytrace=False)
    if None not in (told.get("run"), told.get("study")):
        pytest.fail("the marker `whichbits` names a run and a study: one is tested", pytrace=False)
    root = request.config.rootpath
    found: dict[str, Path | None] = {}
    for word in _WORDS:
        option = None if word == "study" else request.config.getoption(f"--whichbits-{word}")
        value = told.get(word, option)
        if not isinstance(value, str | Path | None):
            pytest.fail(f"the marker `whichbits` takes paths, and {word}={value!r} is none", pytrace=False)
        found[word] = None if value is None else root / value
    return found
