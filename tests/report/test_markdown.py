"""report.md: tables are well formed whatever the names, and its pictures come with it."""

import re
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from tests.report.make_summary import explained, make_manifest, make_summary, renamed
from whichbits.analyze.summary import Finding
from whichbits.report.markdown import markdown
from whichbits.report.markup import escaped

HOSTILE = "a|b `c` <script>alert(1)</script>\n| d |"


@pytest.mark.parametrize("name", ["plain", HOSTILE])
def test_every_row_of_a_table_has_as_many_columns_as_its_heading(name: str) -> None:
    page = markdown(renamed(explained(make_summary()), "fp16", name), make_manifest())["report.md"].decode()

    tables = [block.splitlines() for block in page.split("\n\n") if block.startswith("|")]
    assert len(tables) == 18
    for table in tables:
        assert {len(re.findall(r"(?<!\\)\|", row)) for row in table} == {len(re.findall(r"\|", table[1]))}
        assert re.fullmatch(r"\|( -{3}:? \|)+", table[1])
    assert "<script" not in page


def test_pictures_are_where_the_page_says() -> None:
    files = markdown(renamed(explained(make_summary()), "w8a8", HOSTILE), make_manifest())
    named = re.findall(r"\]\((figures/[^)]+)\)", files["report.md"].decode())

    assert set(named) == set(files) - {"report.md"}
    assert len(named) == 8
    for name in named:
        tags = {element.tag.rpartition("}")[2] for element in ET.fromstring(files[name]).iter()}  # noqa: S314
        assert "script" not in tags


def test_escaping_keeps_words_and_disarms_marks() -> None:
    assert escaped("a|b\n*c* <i>") == r"a\|b \*c\* &lt;i&gt;"


def test_evidence_is_folded_and_cannot_leave_its_fold() -> None:
    evidence = ("</details><script>x</script>\n\n# heading",)
    summary = replace(make_summary(), findings=(Finding("observed", "a_code", "Text.", evidence),))

    page = markdown(summary, make_manifest())["report.md"].decode()

    fold = next(line for line in page.splitlines() if "<details>" in line)
    assert fold.count("</details>") == 1
    assert "&lt;script&gt;" in fold
    assert "\n# heading" not in page


def test_long_evidence_is_cut_and_says_what_would_settle_it() -> None:
    evidence = tuple(f"piece {number}" for number in range(30))
    finding = Finding("observed", "a_code", "Text.", evidence, "more repeats")

    page = markdown(replace(make_summary(), findings=(finding,)), make_manifest())["report.md"].decode()

    fold = next(line for line in page.splitlines() if "<details>" in line)
    assert "Evidence (31)" in fold
    assert fold.count("piece") == 8
    assert "piece 7<br>and 22 more: see summary.json<br>Would settle it: more repeats</details>" in fold


def test_remarks_of_successive_cells_are_told_once() -> None:
    manifest = make_manifest()
    cells = tuple(replace(cell, client=None, notes=("the same for all",)) for cell in manifest.cells)

    page = markdown(make_summary(), replace(manifest, cells=cells))["report.md"].decode()

    assert page.count("the same for all") == 1
    assert page.count("as above") == len(cells) - 1


def test_pictures_have_paper_of_their_own_and_read_without_a_page() -> None:
    picture = markdown(make_summary(), make_manifest())["figures/tpot-p50.svg"]
    drawing = ET.fromstring(picture)  # noqa: S314 - our own

    (group,) = (element for element in drawing if element.tag.endswith("}g"))
    assert group[0].attrib["fill"] == "#ffffff"
    assert group.attrib["color"]
