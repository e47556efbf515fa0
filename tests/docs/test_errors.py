"""docs/errors.md explains every code that the source can show, and none that it cannot."""

import ast
import re
from collections.abc import Iterator

from tests.docs.pages import ROOT, keys, page, section
from whichbits.drive.answer.failure import MEANINGS
from whichbits.errors import WhichbitsError

ERRORS = {kind.__name__ for kind in WhichbitsError.__subclasses__()}
PAGE = page("errors.md")


def calls(names: set[str]) -> Iterator[tuple[ast.Module, ast.Call]]:
    """Every call of one of ``names`` in the source, with the module in which it stands."""
    for path in sorted((ROOT / "src").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if not any(f"{name}(" in text for name in names):
            continue
        module = ast.parse(text)
        for node in ast.walk(module):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names:
                yield module, node


def literals(module: ast.Module, code: ast.expr) -> set[str]:
    """The texts that ``code`` can be: itself, either side of a condition, or what its name is assigned."""
    match code:
        case ast.Constant(value=str(text)):
            return {text}
        case ast.IfExp():
            return literals(module, code.body) | literals(module, code.orelse)
        case ast.Name(name):
            assigned = [
                node.value
                for node in ast.walk(module)
                if isinstance(node, ast.Assign) and any(ast.unparse(target) == name for target in node.targets)
            ]
            assert assigned, f"nothing is known of the code {name!r}"
            return set().union(*(literals(module, value) for value in assigned))
        case _:
            raise AssertionError(f"a code must be readable in the source: {ast.unparse(code)}")


def test_every_error_has_a_section_and_every_section_an_error() -> None:
    raised = set().union(*(literals(module, call.args[0]) for module, call in calls(ERRORS)))
    explained = re.findall(r"^### `(\w+)`$", PAGE, re.MULTILINE)

    assert sorted(explained) == sorted(raised)


def test_every_failure_of_a_request_is_in_the_table() -> None:
    assert keys(section(PAGE, "Failed requests")) == list(MEANINGS)


def test_every_finding_is_in_the_table() -> None:
    found = set().union(*(literals(module, call.args[1]) for module, call in calls({"Finding"})))

    assert sorted(keys(section(PAGE, "Findings"))) == sorted(found)


def test_every_exit_code_is_in_the_table() -> None:
    codes = {int(code) for code in re.findall(r"^\| (\d+) \|", section(PAGE, "Exit codes"), re.MULTILINE)}

    assert codes == {0} | {kind.exit_code for kind in WhichbitsError.__subclasses__()}
