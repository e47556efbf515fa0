"""A study file in, a validated Study out; whatever is wrong is said with its line and a suggestion."""

from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from whichbits.errors import BadInput
from whichbits.study.model import Study
from whichbits.study.schema import keys_at, study_schema

Location = tuple[str | int, ...]


def quickstart() -> Study:
    """Return the study that runs where no other is named."""
    return parse_study(files("whichbits.study").joinpath("quickstart.yaml").read_text(), "quickstart.yaml")


def read_study(path: Path) -> Study:
    """Read and validate the study at ``path``; raise BadInput with everything that is wrong with it."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(
            "study_unreadable",
            f"The study {path} cannot be read: {error}.",
            why="The path is wrong, is a folder, or is not a text file.",
            fix="Name a YAML file; `whichbits run` without one runs the quickstart.",
        ) from None
    return parse_study(text, str(path))


def parse_study(text: str, name: str) -> Study:
    """Validate the YAML ``text`` of a study; ``name`` is what messages call it."""
    root = _compose(text, name)
    try:
        return Study.model_validate(_plain(root, name))
    except ValidationError as error:
        complaints = [_complaint(detail, root) for detail in error.errors()]
        raise BadInput(
            "study_invalid",
            f"{name} is not a valid study:\n" + "\n".join(f"    {complaint}" for complaint in complaints),
            why="A key is misspelt or missing, or a value has another type or range.",
            fix="Mend the lines named; the keys are described in docs/study.md and docs/study.schema.json.",
        ) from None


def _compose(text: str, name: str) -> yaml.Node:
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        raise _not_yaml(name, error) from None
    if not isinstance(root, yaml.MappingNode):
        raise BadInput(
            "study_not_a_mapping",
            f"{name} holds no mapping at its top.",
            why="The file is empty, or is a list or a plain value.",
            fix="Start from studies/quickstart.yaml.",
        )
    return root


def _not_yaml(name: str, error: Exception) -> BadInput:
    return BadInput(
        "study_not_yaml",
        f"{name} is not YAML: {error}",
        why="Indentation, an unclosed bracket or quote, a tab, or a tag or date that YAML cannot make.",
        fix="Mend the line named.",
    )


def _plain(root: yaml.Node, name: str) -> Any:
    """Return the node as plain Python values, refusing keys that are given twice or are no words."""
    for mapping in _mappings(root):
        seen: set[str] = set()
        for key, _ in mapping.value:
            if not isinstance(key, yaml.ScalarNode) or key.value in seen:
                raise BadInput(
                    "study_key_unusable",
                    f"{name}, line {key.start_mark.line + 1}: '{key.value}' is given twice, or is no plain word.",
                    why="YAML would silently keep the last of two; a list cannot be a key.",
                    fix="Remove one of the two, or write a word.",
                )
            seen.add(key.value)
    try:
        return yaml.SafeLoader("").construct_document(root)
    except (yaml.YAMLError, ValueError) as error:
        raise _not_yaml(name, error) from None


def _mappings(root: yaml.Node) -> list[yaml.MappingNode]:
    """Return every mapping below ``root`` once: an alias may lead back to a node seen before."""
    found, waiting, seen = [], [root], set()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            found.append(node)
            waiting += [value for _, value in node.value]
        elif isinstance(node, yaml.SequenceNode):
            waiting += node.value
    return found


def _complaint(detail: ErrorDetails, root: yaml.Node) -> str:
    # A tag that only tells two ways of writing apart is no place in the file.
    location = tuple(part for part in detail["loc"] if not str(part).startswith("#"))
    where = ".".join(str(part) for part in location) or "the study"
    message = detail["msg"].removeprefix("Value error, ")
    if detail["type"] == "extra_forbidden":
        message = f"unknown key{_suggestion(location)}"
    return f"line {_line(root, location)}: {where}: {message}"


def _suggestion(location: Location) -> str:
    known = keys_at(study_schema(), location[:-1])
    close = get_close_matches(str(location[-1]), known, n=1)
    return f"; did you mean '{close[0]}'?" if close else f"; known here: {', '.join(sorted(known))}"


def _line(node: yaml.Node, location: Location) -> int:
    """Return the line of the deepest node on the way to ``location``; tags of unions are no nodes."""
    line = node.start_mark.line
    for part in location:
        match node:
            case yaml.MappingNode():
                found = [(key, value) for key, value in node.value if key.value == str(part)]
                if found:
                    line, node = found[0][0].start_mark.line, found[0][1]
            case yaml.SequenceNode() if isinstance(part, int) and part < len(node.value):
                node = node.value[part]
                line = node.start_mark.line
    return line + 1
