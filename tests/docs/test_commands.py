"""Every command on every page is one that the real parser takes, and the findings that pages name are findings."""

import re

import pytest

from tests.docs.commands import Command, commands, mentions
from tests.docs.pages import keys, page, section
from whichbits.cli import app
from whichbits.cli.reference import verbs

COMMANDS = list(commands())


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


def test_findings_that_pages_name_are_findings() -> None:
    known = set(keys(section(page("errors.md"), "Findings")))
    said = {
        code
        for name in ("how-to.md", "design.md", "findings.md")
        for code in _codes(page(name))
        if code != "settled_by"
    }

    elsewhere = {code for name in ("inspect.md", "metrics.md", "study.md") for code in _codes(page(name))}

    assert said - known - elsewhere == set()
    assert len(said & known) >= 20


def _codes(text: str) -> list[str]:
    return re.findall(r"`([a-z]+(?:_[a-z0-9]+)+)`", text)
