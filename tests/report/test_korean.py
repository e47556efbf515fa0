"""The reports in Korean: whole, as hostile to hostile names as in English, within a terminal's width."""

import html as markup
import re
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest
from rich.cells import cell_len

from tests.report.make_summary import explained, make_manifest, make_summary, renamed, repeated
from tests.report.test_html import HOSTILE, Page
from whichbits.analyze.answer.ranking import Compared
from whichbits.analyze.answer.recommend import recommendations
from whichbits.analyze.answer.regimes import answer
from whichbits.analyze.crossings.crossover import crossovers
from whichbits.analyze.findings import Observed, findings
from whichbits.analyze.summary import Summary
from whichbits.language.language import ENGLISH, language
from whichbits.report.html import html
from whichbits.report.markdown import markdown
from whichbits.report.reporters import REPORTERS, reporter
from whichbits.report.terminal import text

KOREAN = language("ko")
SENTENCE = re.compile(r"(?:\b[a-z]{2,}[ ,]+){4,}")
"""Four small words in a row: in these reports a sentence that stayed English."""


def concluded(summary: Summary) -> Summary:
    """Return the summary with the findings and answers that its own cells give."""
    manifest, arms = make_manifest(tuple(summary.arms)), tuple(summary.arms)
    pairs = crossovers(summary.cells, arms)
    observed = Observed(manifest, summary.cells, pairs, arms=summary.arms)
    found = findings(replace(observed, slo_capacities=summary.slo_capacities))
    compared = Compared(manifest, summary.arms, summary.cells, pairs, found)
    return replace(
        summary,
        findings=found,
        crossovers=pairs,
        recommendation=recommendations(summary.cells, arms, pairs),
        answer=answer(compared),
    )


WHOLE = concluded(explained(make_summary()))


def page_of(summary: Summary) -> str:
    return html(summary, make_manifest(tuple(summary.arms)), KOREAN)["report.html"].decode()


def words(page: str) -> list[str]:
    """Return the texts of a page, but for what is shown as it was recorded."""
    shown = re.sub(r"(?s)<(style|script|pre|code)\b.*?</\1>|<table class=\"plain facts\">.*?</table>", "", page)
    labels = re.findall(r'(?:aria-label|title)="([^"]*)"', shown)
    return [markup.unescape(each).strip() for each in (*re.sub("<[^>]*>", "\n", shown).split("\n"), *labels)]


def test_the_synthetic_run_shows_many_findings() -> None:
    assert len({finding.code for finding in WHOLE.findings}) > 15
    assert WHOLE.answer is not None


@pytest.mark.parametrize("summary", [WHOLE, repeated(WHOLE)], ids=["once", "twice"])
def test_no_sentence_of_the_page_stays_english(summary: Summary) -> None:
    page = page_of(summary)

    assert '<html lang="ko">' in page
    assert "[en]" not in page
    assert [each for each in words(page) if SENTENCE.search(each)] == []


def test_the_same_numbers_in_both_languages() -> None:
    manifest = make_manifest()
    pages = [html(WHOLE, manifest, spoken)["report.html"].decode() for spoken in (ENGLISH, KOREAN)]
    cells = [re.findall(r"<td[^>]*>(~?[0-9.]+%?)<", page) for page in pages]

    assert cells[0] == cells[1]
    assert len(cells[0]) > 200


def test_headings_answers_and_verdicts() -> None:
    page = Page(page_of(WHOLE))

    titles = [title for _, title in page.headings]
    for title in ("결론", "부하에 따른 곡선", "조건의 순위가 바뀌는 곳", "원인", "발견", "관찰", "출처", "재현"):
        assert title in titles
    assert "동시 요청 1에서 TPOT 중앙값 15.0" in page.text
    assert "송신 지연" in page.text
    assert "정상" in page.text
    assert "의심" in page.text


def test_charts_have_korean_axes_and_descriptions() -> None:
    files = markdown(WHOLE, make_manifest(), KOREAN)
    drawing = ET.fromstring(files["figures/tpot-p50.svg"])  # noqa: S314 - our own file

    assert drawing.attrib["aria-label"].startswith("선 그래프: 동시 요청 수에 따른 TPOT 중앙값(ms)")
    assert any(each.text == "동시 요청 수" for each in drawing.iter())
    assert "바이트당 FLOP" in files["figures/roofline.svg"].decode()


def test_no_sentence_of_the_markdown_stays_english() -> None:
    report = markdown(WHOLE, make_manifest(), KOREAN)["report.md"].decode()

    lines = re.sub(r"```.*?```", "", report, flags=re.DOTALL).splitlines()
    assert [line for line in lines if SENTENCE.search(line) or "[en]" in line] == []
    assert "| 지표 | 서빙할 조건 | 의심할 점 |" in lines


@pytest.mark.parametrize("summary", [WHOLE, repeated(WHOLE)], ids=["once", "twice"])
def test_the_terminal_holds_80_columns_and_loses_no_letter(summary: Summary) -> None:
    report = text(summary, make_manifest(), KOREAN)["report.txt"].decode()

    assert max(map(cell_len, report.splitlines())) <= 80
    assert "…" not in report.split("발견")[0]
    assert [line for line in report.splitlines() if SENTENCE.search(line)] == []


@pytest.mark.parametrize("name", [HOSTILE, "{arm:은}", "arm", "median TPOT", "모델\u202e</td>"])
def test_hostile_names_stay_text_and_are_never_translated(name: str) -> None:
    summary = concluded(renamed(explained(make_summary()), "w4a8", name))
    page = Page(page_of(summary))

    assert page.scripts == []
    assert not [value for tag, _, value in page.attributes if tag == "img"]
    assert name.replace("\u202e", "") in page.text.replace("\u202e", "").replace("\ufffd", "")


def test_summary_json_is_english_whatever_people_read() -> None:
    manifest = make_manifest()

    assert reporter("json")(WHOLE, manifest, KOREAN) == reporter("json")(WHOLE, manifest, ENGLISH)
    assert "동시" not in reporter("json")(WHOLE, manifest, KOREAN)["summary.json"].decode()


@pytest.mark.parametrize("name", REPORTERS)
def test_a_summary_of_nothing_has_reports_too(name: str) -> None:
    empty = replace(make_summary(), cells=(), crossovers=(), findings=(), recommendation=(), arms={})

    files = reporter(name)(empty, make_manifest(()), KOREAN)

    assert all(b"[en]" not in content for content in files.values())
