"""docs/inspect.md names every code that a reader of files can give."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
CODE = re.compile(r'(?:code=|warning=|hint=|Problem\(\s*)"([a-z_0-9.]+)"')


def test_every_code_of_an_inspection_is_explained() -> None:
    page = (ROOT / "docs/inspect.md").read_text(encoding="utf-8")
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "src/whichbits").rglob("*.py")]
    given = {code for source in sources for code in CODE.findall(source)}

    assert len(given) > 30
    assert {code for code in given if f"`{code}`" not in page} == set()
