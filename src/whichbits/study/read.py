"""A study file in, a validated Study out; whatever is wrong is said with its line and a suggestion."""

from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from whichbits.errors import BadInput
from whichbits.study.complaint import complaints, told_at
from whichbits.study.idle import idle_keys
from whichbits.study.model import Study

_TEXT = "tag:yaml.org,2002:str"
_READ_AS_OTHER = frozenset(f"tag:yaml.org,2002:{kind}" for kind in ("int", "float", "bool", "timestamp"))


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
        study = Study.model_validate(_plain(root, name))
    except ValidationError as error:
        found = complaints(error.errors(), root)
        raise BadInput(
            "study_invalid",
            f"{name} is not a valid study:\n" + "\n".join(f"    {complaint}" for complaint in found),
            why="A key is misspelt or missing, or a value has another type or range.",
            fix="Mend the lines named; the keys are described in docs/study.md and docs/study.schema.json.",
        ) from None
    _refuse_idle_keys(study, root, name)
    return study


def study_of_record(recorded: Mapping[str, Any]) -> Study | None:
    """Return the study that a run recorded; None if it is not one of ours, as of imported and of edited runs."""
    try:
        return Study.model_validate(recorded)
    except ValidationError:
        return None


def _refuse_idle_keys(study: Study, root: yaml.Node, name: str) -> None:
    """Only of files: a run that was made before a rule was known is still read."""
    idle = dict.fromkeys(told_at(root, each.key, each.reason) for each in idle_keys(study))
    if idle:
        raise BadInput(
            "study_key_idle",
            f"{name} says what would change nothing:\n" + "\n".join(f"    {line}" for line in idle),
            why="Together with the other keys it is never asked for, and a reader of the study would believe it.",
            fix="Leave the key out, or change what keeps it from working.",
        )


def _compose(text: str, name: str) -> yaml.Node:
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError) as error:
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
        why="Indentation, an unclosed bracket or quote, a tab, a tag or date that YAML cannot make, or lists within "
        "lists without end.",
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
    for variables in _environments(root):
        _take_as_written(variables)
    try:
        for node in _nodes(root):
            if isinstance(node, yaml.ScalarNode):
                _refuse_unwritable(node)
        return yaml.SafeLoader("").construct_document(root)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise _not_yaml(name, error) from None


def _refuse_unwritable(node: yaml.ScalarNode) -> None:
    """Refuse what only an escape can write: half a character, which no file takes, and NUL, which no name may hold."""
    node.value.encode()
    if "\0" in node.value:
        raise ValueError(f"line {node.start_mark.line + 1} holds NUL, which no path, variable or command can")


def _environments(root: yaml.Node) -> Iterator[yaml.Node]:
    arms = [arm for _, arm in _entries(_value(root, "arms"))]
    for place in (_value(root, "every_arm"), *arms):
        if (found := _value(place, "environment")) is not None:
            yield found


def _take_as_written(variables: yaml.Node) -> None:
    """Make text of what YAML reads as numbers and switches: a server is to see `1.50` and `yes`, not 1.5 and true."""
    for _, value in _entries(variables):
        if value.tag in _READ_AS_OTHER:
            value.tag = _TEXT


def _value(node: yaml.Node | None, key: str) -> yaml.Node | None:
    return next((value for name, value in _entries(node) if name.value == key), None)


def _entries(node: yaml.Node | None) -> list[tuple[yaml.Node, yaml.Node]]:
    return node.value if isinstance(node, yaml.MappingNode) else []


def _mappings(root: yaml.Node) -> list[yaml.MappingNode]:
    return [node for node in _nodes(root) if isinstance(node, yaml.MappingNode)]


def _nodes(root: yaml.Node) -> list[yaml.Node]:
    """Return every node below ``root`` once: an alias may lead back to a node seen before."""
    found, waiting, seen = [], [root], set()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        found.append(node)
        if isinstance(node, yaml.MappingNode):
            waiting += [each for pair in node.value for each in pair]
        elif isinstance(node, yaml.SequenceNode):
            waiting += node.value
    return found
