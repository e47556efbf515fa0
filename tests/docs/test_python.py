"""The examples of docs/python.md run, one after another, on a run of known truth."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import page
from tests.docs.working_folder import make_working_folder
from whichbits.tables.loaded_run import LoadedRun

PAGE = page("python.md")
EXAMPLES = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)

pytest_plugins = ["pytester"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_working_folder(tmp_path_factory.mktemp("work"))


def test_the_examples_give_the_numbers_of_the_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    scope: dict[str, Any] = {}
    for code in EXAMPLES[:-1]:
        exec(code, scope)  # noqa: S102 - the page's own lines

    # 12 * load**0.1 against 6 * load**0.35: equal at 16.
    assert scope["best"]["arm"].to_list() == ["w4a16", "bf16"]
    assert scope["ttft"].fetchall()[0][:3] == ("bf16", 4, 20.0)
    assert scope["stalls"].height == 2 * (16 + 128)
    # 12.1 ms against 12 in both arms.
    assert scope["change"]["change"].to_list() == pytest.approx([0.1 / 12] * 4, rel=1e-3)


def test_the_example_in_pytest_passes(folder: Path, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    (pytester.path / "runs").symlink_to(folder / "runs")
    pytester.makepyfile(EXAMPLES[-1])

    pytester.runpytest_inprocess("-p", "whichbits.testing.plugin", "-p", "no:cacheprovider").assert_outcomes(passed=1)


def test_every_table_is_named() -> None:
    public = [name for name in vars(LoadedRun) if not name.startswith("_") and name != "run"]

    assert [name for name in public if f"`{name}" not in PAGE and f", `{name}`" not in PAGE] == []
