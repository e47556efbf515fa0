"""What the source must not do, because some Python that we support goes wrong on it."""

import ast
from collections.abc import Iterator

from tests.docs.pages import ROOT

Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


def module_names(module: ast.Module) -> set[str]:
    """Names of the module that a function may use."""
    names = {
        node.name for node in module.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    }
    for node in module.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            names |= {alias.asname or alias.name for alias in node.names}
    return names


def loop_names(comprehension: Comprehension) -> set[str]:
    targets = (node for loop in comprehension.generators for node in ast.walk(loop.target))
    return {node.id for node in targets if isinstance(node, ast.Name)}


def shadowed(function: ast.AST, names: set[str]) -> Iterator[str]:
    """Names that are a loop variable in one comprehension of a function, and the module's in another part of it."""
    comprehensions = [node for node in ast.walk(function) if isinstance(node, Comprehension)]
    for comprehension in comprehensions:
        inside = {id(node) for node in ast.walk(comprehension)}
        used = {
            node.id
            for node in ast.walk(function)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and id(node) not in inside
        }
        yield from loop_names(comprehension) & names & used


def test_no_loop_variable_hides_a_name_that_the_same_function_uses() -> None:
    """Python 3.12.3 inlines comprehensions, and then takes the module's name for an unbound local."""
    found = []
    for path in sorted((ROOT / "src").rglob("*.py")):
        module = ast.parse(path.read_text(encoding="utf-8"))
        names = module_names(module)
        functions = (node for node in ast.walk(module) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
        found += [f"{path.name}: {name}" for function in functions for name in shadowed(function, names)]

    assert found == []
