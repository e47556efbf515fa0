"""Every phrase that the program can say, by reading its source: calls of ``phrase`` and of the templates' ``say``."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from jinja2 import Environment, nodes

SOURCE = Path(__file__).parents[2] / "src" / "whichbits"


@cache
def templates() -> dict[str, str]:
    """Return each template with a place where it stands."""
    found = {template: str(path) for path in SOURCE.rglob("*.py") for template in _of_module(path)}
    return found | {template: str(path) for path in SOURCE.rglob("*.j2") for template in _of_page(path)}


def unreadable() -> list[str]:
    """Return the calls whose template is neither a text nor the name of one in its module."""
    return [
        f"{path}:{call.lineno}"
        for path in SOURCE.rglob("*.py")
        if path.name != "phrase.py"
        for call, constants in _calls(path)
        if _text(call, constants) is None
    ]


def _of_module(path: Path) -> Iterator[str]:
    for call, constants in _calls(path):
        text = _text(call, constants)
        if text is not None:
            yield text


def _calls(path: Path) -> Iterator[tuple[ast.Call, dict[str, str]]]:
    text = path.read_text(encoding="utf-8")
    if "phrase(" not in text:
        return
    tree = ast.parse(text)
    constants = _reasons() | _constants(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "phrase":
            yield node, constants


@cache
def _reasons() -> dict[str, str]:
    """Return the texts with a name in the module of reasons, whose templates others use."""
    return _constants(ast.parse((SOURCE / "drive" / "reasons.py").read_text(encoding="utf-8")))


def _constants(tree: ast.Module) -> dict[str, str]:
    """Return the texts with a name in a module."""
    return {
        target.id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def _text(call: ast.Call, constants: dict[str, str]) -> str | None:
    match call.args[0]:
        case ast.Constant(value=str(text)):
            return text
        case ast.Name(id=name):
            return constants.get(name)
        case _:
            return None


def _of_page(path: Path) -> Iterator[str]:
    for call in Environment(autoescape=True).parse(path.read_text(encoding="utf-8")).find_all(nodes.Call):
        if isinstance(call.node, nodes.Name) and call.node.name == "say":
            template = call.args[0]
            assert isinstance(template, nodes.Const), f"{path}:{call.lineno}"
            yield template.value
