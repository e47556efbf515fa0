"""Every command on every page is one that the real parser takes; those that are cheap are run, and succeed."""

import re
from pathlib import Path

import pytest

from tests.docs.commands import Command, commands, mentions
from tests.docs.pages import keys, page, section
from tests.docs.working_folder import make_working_folder
from whichbits.cli import app, exit_code
from whichbits.cli.reference import verbs

COMMANDS = list(commands())
CHEAP = {"inspect", "report", "compare", "import", "predict"}
NEEDS_VLLM = "run studies/seed-l4.yaml --dry-run"  # it looks for the interpreter that would serve
FASTER = {"predict": ("--draws", "0")}


def cheap(command: Command) -> bool:
    words = command.words
    needs_a_service = "--to" in words or "--summary" in words or "--calibration" in words
    needs_a_service |= " ".join(words) == NEEDS_VLLM
    return not needs_a_service and (words[0] in CHEAP or "--dry-run" in words or "--format" in words)


def named(command: Command) -> list[str]:
    """The paths that a command reads: what comes before its first flag, without the names given to sources."""
    places = [word.partition("=")[2] or word for word in command.words[1:]]
    flags = [place for place, word in enumerate(places) if word.startswith("--")]
    return places[: flags[0]] if flags else places


@pytest.mark.parametrize("command", [each for each in COMMANDS if not each.is_usage], ids=lambda each: each.line)
def test_the_parser_takes_it(command: Command) -> None:
    if command.words == ["--help"]:
        return
    function, bound, _ = app.parse_args(command.words, print_error=False, exit_on_error=False)

    assert command.words[0] in verbs()
    assert callable(function)
    assert bound.arguments is not None


def test_commands_within_sentences_have_verbs_and_flags_that_exist() -> None:
    told = list(mentions())
    unknown = [(name, text) for name, text in told if not _is_known(text.split()[1:])]

    assert len(told) > 50
    assert unknown == []


def _is_known(words: list[str]) -> bool:
    if words[0] in {"VERB", "--help", "--version"}:
        return True
    if words[0] not in verbs():
        return False
    known = {name for argument in app[words[0]].assemble_argument_collection() for name in argument.names} | {"--help"}
    flags = {word.partition("=")[0].strip("[]") for word in words if word.lstrip("[").startswith("--")}
    return flags - {"--"} <= known


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_working_folder(tmp_path_factory.mktemp("work"))


def runnable(folder: Path) -> list[Command]:
    return [each for each in COMMANDS if not each.is_usage and cheap(each) and _there(folder, each)]


def _there(folder: Path, command: Command) -> bool:
    return bool(named(command)) and all((folder / path).exists() for path in named(command))


def test_cheap_commands_succeed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    ended = {
        command.line: exit_code([*command.words, *FASTER.get(command.words[0], ())])
        for command in {each.line: each for each in runnable(folder)}.values()
    }

    assert {line: code for line, code in ended.items() if code != 0} == {}
    assert len(ended) >= 14


def test_findings_that_pages_name_are_findings() -> None:
    known = set(keys(section(page("errors.md"), "Findings")))
    said = {
        code
        for name in ("how-to.md", "design.md", "findings.md")
        for code in _codes(page(name))
        if code != "settled_by"
    }

    assert said - known - set(_codes(page("inspect.md"))) - set(_codes(page("study.md"))) == set()
    assert len(said & known) >= 20


def _codes(text: str) -> list[str]:
    return re.findall(r"`([a-z]+(?:_[a-z0-9]+)+)`", text)
