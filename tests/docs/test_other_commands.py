"""What the pages' other commands name is there: targets of make, extras, modules and flags of benchmarks, packages."""

import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.commands import PAGES
from tests.docs.pages import ROOT

# Programs of other people, whose commands are theirs to document.
OTHERS = {"curl", "kubectl", "pip", "pytest", "python", "python3", "ray", "pre-commit", "."}
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))

_SHELL = re.compile(r"^ *```(?:sh|bash|console)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
_INDENTED = re.compile(r"((?:^ {4}\S.*\n)+)", re.MULTILINE)
_STARTS = re.compile(
    r"^\s*(?:\$ )?((?:[A-Z_]+=\S+ )*(?:make|" + "|".join(map(re.escape, OTHERS)) + r") .*)$", re.MULTILINE
)
_INLINE = re.compile(r"`((?:[A-Z_]+=\S+ )*(?:make|pip|python3?|pytest|pre-commit) [^`]+)`")


def shown() -> Iterator[tuple[str, list[str]]]:
    """Yield page and words of each command of another program, in blocks and in sentences."""
    for path in PAGES:
        text = path.read_text(encoding="utf-8")
        blocks = [*_SHELL.findall(text), *_INDENTED.findall(text)]
        lines = [line for block in blocks for line in _STARTS.findall(block)]
        for line in dict.fromkeys([*lines, *_INLINE.findall(text)]):
            words = shlex.split(line, comments=True)
            yield path.name, [word for word in words if not re.match(r"[A-Z_]+=", word)]


COMMANDS = list(shown())


def script(words: list[str]) -> Path | None:
    """The file of ours that a call of Python runs, if any."""
    if not words[0].startswith("python") or words[1:3] in (["-m", "venv"], ["-m", "pip"]):
        return None
    place = words[2].replace(".", "/") + ".py" if words[1] == "-m" else words[1]
    return next((root / place for root in (ROOT, ROOT / "src") if (root / place).is_file()), _package(place))


def _package(place: str) -> Path:
    mains = (root / place.removesuffix(".py") / "__main__.py" for root in (ROOT, ROOT / "src"))
    return next((main for main in mains if main.is_file()), ROOT / place)


def test_commands_are_found() -> None:
    assert len(COMMANDS) > 30
    assert {words[0] for _, words in COMMANDS} > {"make", "pip", "python", "python3"}


@pytest.mark.parametrize(
    ("page", "words"), COMMANDS, ids=lambda each: each if isinstance(each, str) else " ".join(each)
)
def test_what_it_names_is_there(page: str, words: list[str]) -> None:
    if words[0] == "make":
        assert set(words[1:]) <= TARGETS
    if words[0] == "pip":
        named = {name for word in words for found in re.findall(r"\[([\w,-]+)\]", word) for name in found.split(",")}
        assert named <= set(EXTRAS)
    if words[0] == "pytest":
        assert all((ROOT / word).exists() for word in words if "/" in word)
    if (file := script(words)) is not None:
        assert file.is_file(), page
        assert flags(words) <= declared(file)


def flags(words: list[str]) -> set[str]:
    return {word for word in words if word.startswith("--")}


def declared(file: Path) -> set[str]:
    """The flags that a program's source declares."""
    return set(re.findall(r'"(--[\w-]+)"', file.read_text(encoding="utf-8")))


def test_ci_runs_the_targets_that_pages_call_tests() -> None:
    ci = (ROOT / ".ci" / "run").read_text()
    told = {words[1] for _, words in COMMANDS if words[0] == "make"}

    assert {"demo", "docs", "test", "test-ray", "test-vllm"} <= told
    assert [
        target for target in ("make demo", "make docs", "test-browser", "test-ray", "test-vllm") if target not in ci
    ] == []
