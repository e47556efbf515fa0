"""The worked examples of docs/extending.md do what the page says."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import page, section
from whichbits.analyze.comparison.sources import read_source
from whichbits.record.importers import tools
from whichbits.serve import engine as engines
from whichbits.serve.engine import engine
from whichbits.study.read import parse_study

PAGE = page("extending.md")


def example(heading: str, language: str) -> str:
    (code,) = re.findall(rf"^```{language}\n(.*?)^```$", section(PAGE, heading), re.MULTILINE | re.DOTALL)
    return str(code)


def scope(code: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(code, names)  # noqa: S102 - the page's own lines
    return names


def test_the_importer_reads_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(tools.IMPORTERS, "pacer", scope(example("An importer", "python"))["PACER"])
    path = tmp_path / "result.json"
    path.write_text(json.dumps(json.loads(example("An importer", "json"))))
    (side,) = read_source(str(path)).sides
    (cell,) = side.cells

    assert (side.name, cell.concurrency) == ("m", 4)
    # The first token after 0.25 s, ten more within the second after it.
    assert (cell.ttft_ms.p50, cell.tpot_ms.p50) == (250.0, 100.0)
    assert cell.definitions == {"ttft_ms": "ttft_send", "tpot_ms": "tpot", "e2e_ms": "e2e_send"}


def test_the_engine_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    names = scope(example("An engine", "python"))
    monkeypatch.setattr(
        engines, "import_module", lambda name: type("Module", (), {"lorem": staticmethod(names["lorem"])})
    )
    monkeypatch.setattr(engines, "ENGINES", {"lorem": "somewhere:lorem"})
    lorem = engine("lorem")

    assert (lorem.name, lorem.health_path, lorem.cache_reset_path) == ("lorem", "/ready", "/forget")


async def test_the_engine_asks_its_questions() -> None:
    class Control:
        async def json(self, path: str) -> Any:
            return {"/about": {"build": {"version": "1.2"}, "slots": 8}}[path]

    lorem = scope(example("An engine", "python"))["lorem"]()
    facts = await lorem.ask_facts(Control())

    assert {name: (fact.value, fact.source) for name, fact in facts.items()} == {
        "engine_version": ("1.2", "/about"),
        "max_num_seqs": (8, "/about"),
    }


def test_the_arms_are_a_study() -> None:
    assert list(parse_study(example("An arm", "yaml"), "the example").arms) == ["bf16", "mine"]
