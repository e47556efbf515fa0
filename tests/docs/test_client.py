"""docs/client.md has a row for each fault that is tested, and a test for each row."""

import ast
import re

from tests.docs.pages import ROOT, page

PAGE = page("client.md")


def test_every_row_has_its_test_and_every_test_its_row() -> None:
    rows = re.findall(r"^\| (\d\d) \|", PAGE, re.MULTILINE)
    names = {
        node.name
        for path in (ROOT / "tests" / "faults").glob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    tested = {name.split("_")[2] for name in names if name.startswith("test_fault_")}

    assert rows == [f"{number:02}" for number in range(1, 26)]
    assert set(rows) == tested
