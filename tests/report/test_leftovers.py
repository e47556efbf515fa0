"""Nothing that people read in Korean has an English sentence in it: runs of all kinds, every printer, the web pages."""

import html as markup
import io
import re
from dataclasses import replace
from pathlib import Path

import pytest
from aiohttp.test_utils import TestClient, TestServer
from rich.console import Console

from tests.analyze.make_side import bench, side
from tests.conduct.self_test.rungs import rung
from tests.record.make_run import make_run
from tests.report.answer.test_predictions import SCORED
from tests.report.make_summary import explained, make_manifest, make_summary, repeated
from tests.report.sheets.test_course import HELD, PACES, rated
from tests.report.sheets.test_quality import JUDGED
from tests.report.test_korean import concluded
from whichbits.analyze.answer.tradeoff import Candidates, with_trade_offs
from whichbits.analyze.comparison.comparison import compare
from whichbits.analyze.comparison.gates import judge, read_gate
from whichbits.analyze.load.sending import Drain
from whichbits.analyze.summary import Recommendation, Summary
from whichbits.conduct.order import visits
from whichbits.conduct.self_test.ladder import Climb
from whichbits.drive.reasons import (
    BUSY,
    CLOCKS,
    FEWER_SENT,
    FINE_BOUNDS,
    GAP_OF_ARRIVALS,
    HANDSHAKES,
    LATE,
    LATE_READS,
    LOST_GAPS,
    MEDIAN_TTFT,
    SENDS,
    SENT_IN_BURSTS,
    SHORT_GAPS,
)
from whichbits.language.language import language
from whichbits.language.phrase import phrase
from whichbits.record.inspection import Inspection, Problem
from whichbits.record.schema import ClientHealth, Manifest, SearchRecord, SearchStep
from whichbits.report.comparison.markdown import comparison_markdown
from whichbits.report.comparison.terminal import comparison_text
from whichbits.report.html import html
from whichbits.report.inspection.inspection import print_inspection
from whichbits.report.inspection.meanings import MEANINGS
from whichbits.report.load_table import print_load
from whichbits.report.markdown import markdown
from whichbits.report.plan.dry_run import show_plan
from whichbits.report.progress.self_test import print_heading, print_result, print_rung
from whichbits.report.reporters import summary_json
from whichbits.report.terminal import text
from whichbits.study.read import quickstart
from whichbits.view.application import application

KOREAN = language("ko")
SENTENCE = re.compile(r"(?:\b[A-Za-z][A-Za-z'-]*[ ,;:]+){3,}[A-Za-z][A-Za-z'-]*")
"""Four words in Latin letters in a row. Names, units and codes stand alone, or beside one another in twos or threes."""
NAMED = ("TTFT", "TPOT", "Intel Xeon", "startup log", "Input data", "vllm bench serve", "whichbits ")

NUMBERS = {"share": 0.2, "lag": 5.0, "blurred": 20.0, "mean": 9.0, "mean_gap": 9.0, "achieved": 3.0, "requested": 4.0}
REASONS = (
    phrase(LATE, who=SENDS, what=MEDIAN_TTFT, **NUMBERS),
    phrase(LATE_READS, **NUMBERS),
    phrase(LOST_GAPS, **NUMBERS) + phrase(FINE_BOUNDS, suspect=0.005, limited=0.025),
    phrase(BUSY, **NUMBERS),
    phrase(SHORT_GAPS, cause=SENT_IN_BURSTS, **NUMBERS),
    phrase(HANDSHAKES, **NUMBERS),
    phrase(FEWER_SENT, **NUMBERS),
    phrase(CLOCKS, apart=1.5, what=GAP_OF_ARRIVALS, **NUMBERS),
)
STEPS = (
    SearchStep(0, (0, 1), "coarse sweep", "the crossing of fp16 / w4a16 in median TPOT: too noisy to say"),
    SearchStep(
        1,
        (2, 3),
        "narrows the crossing of fp16 / w4a16 in median TPOT",
        "narrowed the crossing of fp16 / w4a16 in median TPOT from 4 to 32 to 8 to 16; saturation of fp16: more load "
        "buys waiting only from 32 on",
    ),
    SearchStep(2, (4,), "narrows the highest load of fp16 that holds the SLO", "nothing new"),
)


def full_manifest() -> Manifest:
    """A record in which everything has happened: a client that was late, notes, a search that ended."""
    plain = make_manifest()
    notes = ("replica 0 gave no metrics during the cell: the server did not answer: it is busy",)
    late = ClientHealth("client_limited", tuple(map(str, REASONS)), 6.3, 2.9, 0.9, 0.1)
    cells = (replace(plain.cells[0], client=late, notes=notes), *plain.cells[1:])
    told = ("resumed 2026-11-29T15:00:00+00:00 with 4 cells left", "fp16: its quality is not known: nothing was scored")
    return replace(plain, cells=cells, notes=told, search=SearchRecord(267.0, STEPS, "the budget is spent"))


def full_summary() -> Summary:
    """A summary of which every sheet has something to show."""
    plain = explained(make_summary())
    cells = tuple(
        rated(replace(cell, steady=HELD, drain=Drain(1.0, 0.1), mean_concurrency=3.5)) for cell in plain.cells
    )
    arms = {name: replace(arm, warm_up=PACES) for name, arm in plain.arms.items()}
    judged = with_trade_offs(JUDGED, Candidates(plain.arms, plain.crossovers, "concurrency"))
    return concluded(replace(plain, cells=cells, arms=arms, quality=judged, predictions=SCORED))


FULL = full_summary()
KINDS = {
    "measured": FULL,
    "repeated": repeated(FULL),
    "predicted": replace(FULL, source="predicted"),
    "imported": replace(FULL, source="imported"),
    "cut short": replace(FULL, interrupted=True, cells=tuple(replace(c, state="interrupted") for c in FULL.cells)),
    "of nothing": replace(FULL, cells=(), crossovers=(), recommendation=(), answer=None),
}


def leftovers(page: str) -> list[str]:
    """Return what looks like an English sentence, but for what is code or was recorded as it stands."""
    shown = re.sub(r"(?s)<(style|script|pre|code)\b.*?</\1>|<table class=\"plain facts\">.*?</table>", "\n", page)
    labels = re.findall(r'(?:aria-label|title|placeholder)="([^"]*)"', shown)
    texts = [*re.sub("<[^>]*>", "\n", shown).split("\n"), *labels]
    found = [markup.unescape(each) for each in texts if SENTENCE.search(markup.unescape(each))]
    return [each for each in found if not any(name in SENTENCE.search(each)[0] for name in NAMED)] + re.findall(  # type: ignore[index]
        r"\[en\].*", page
    )


@pytest.fixture(params=KINDS)
def summary(request: pytest.FixtureRequest) -> Summary:
    return KINDS[request.param]


def test_an_english_sentence_would_be_found() -> None:
    assert leftovers("<p>The run was stopped early.</p>")
    assert leftovers("- [en] two words")
    assert not leftovers("<p>fp16 대비 w8a8: CUDA graphs <code>this is left out here</code></p>")


def test_no_report_has_an_english_sentence(summary: Summary) -> None:
    manifest = full_manifest()

    page = html(summary, manifest, KOREAN)["report.html"].decode()
    report = re.sub(r"```.*?```", "", markdown(summary, manifest, KOREAN)["report.md"].decode(), flags=re.DOTALL)
    printed = text(summary, manifest, KOREAN)["report.txt"].decode()

    assert leftovers(page) == []
    assert leftovers(report) == []
    assert leftovers(printed) == []


def printed(width: int = 80) -> Console:
    return Console(file=io.StringIO(), width=width, no_color=True)


def of(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_what_load_prints(summary: Summary) -> None:
    console = printed(200)
    print_load(summary, full_manifest(), console, "folder", KOREAN)

    assert leftovers(of(console)) == []


def test_a_comparison(tmp_path: Path) -> None:
    baseline = side(tmp_path, bench(lambda _: 0.010, model_id="acme/bf16"), "baseline")
    chat = bench(lambda _: 0.012, model_id="acme/w4a16", backend="openai-chat", vllm_version="0.33.0")
    longer = bench(lambda _: 0.012, model_id="acme/w4a16")
    found = compare([(baseline, side(tmp_path, chat, "chat")), (baseline, side(tmp_path, longer, "longer"))])
    gates = [judge(read_gate("median_tpot +10%"), found)]

    assert leftovers(comparison_text(found, gates, KOREAN)) == []
    assert leftovers(comparison_markdown(found, gates, KOREAN)) == []


def test_what_an_inspection_and_a_dry_run_and_a_self_test_print() -> None:
    console = printed(200)
    problems = [Problem(code) for code in MEANINGS]
    print_inspection("a.log", "", Inspection("startup_log", "vllm", "0.27.1", FACTS, tuple(problems)), console, KOREAN)
    show_plan(quickstart(), visits(quickstart()), console, KOREAN)
    climbs = (Climb("spread", (rung(streams=8), rung(streams=16)), "streams"),)
    print_heading(console, KOREAN)
    for each in climbs[0].rungs:
        print_rung(each, console, KOREAN)
    print_result(climbs, console, KOREAN)

    assert leftovers(of(console)) == []


FACTS = {
    "max_concurrency": 24.97,
    "max_concurrency_tokens": 4096,
    "weights_memory_gib": 14.3,
    "kv_cache_memory_gib": 5.5,
}
PATHS = ("/", "/?q=nowhere", "/runs/{0}/", "/runs/{0}/report", "/compare?run={0}&run={1}", "/compare?run={0}")


@pytest.mark.parametrize("path", PATHS)
async def test_no_web_page_has_an_english_sentence(tmp_path: Path, path: str) -> None:
    names = [make_run(tmp_path).name, make_run(tmp_path).name]
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "run.json").write_text("{")
    async with TestClient(TestServer(application(tmp_path, "127.0.0.1", None))) as client:
        address = path.format(*names)
        answer = await client.get(f"{address}{'&' if '?' in path else '?'}lang=ko")
        page = await answer.text()

    assert '<html lang="ko">' in page
    assert leftovers(page) == []


async def test_the_answer_of_a_run_is_said_in_the_language_of_the_page(tmp_path: Path) -> None:
    folder = make_run(tmp_path)
    ranges: tuple[tuple[str, float | None, float | None], ...] = (("w4a16", None, 44.0), ("w8a8", 44.0, None))
    answer = Recommendation("tpot_ms.p50", ranges, "median TPOT: w4a16 up to about 44, w8a8 beyond")
    summary = replace(make_summary(), recommendation=(answer,))
    (folder / "summary.json").write_bytes(summary_json(summary, make_manifest())["summary.json"])
    async with TestClient(TestServer(application(tmp_path, "127.0.0.1", None))) as client:
        korean, english = [await (await client.get(f"/?lang={lang}")).text() for lang in ("ko", "en")]

    assert "TPOT 중앙값: 약 44까지 w4a16, 그 위로는 w8a8" in korean
    assert "median TPOT: w4a16 up to about 44, w8a8 beyond" in english


async def test_the_language_of_pages_is_kept_and_can_be_changed(tmp_path: Path) -> None:
    name = make_run(tmp_path).name
    async with TestClient(TestServer(application(tmp_path, "127.0.0.1", None, "ko"))) as client:
        usual = await (await client.get("/")).text()
        other = await (await client.get("/?lang=en&q=a")).text()
        unknown = await (await client.get("/?lang=fr")).text()

    assert '<html lang="ko">' in usual
    assert '<html lang="ko">' in unknown
    assert '<html lang="en">' in other
    assert f'href="/runs/{name}/"' in usual
    assert f'href="/runs/{name}/?lang=en"' in other or "No run has all of these words" in other
    assert 'name="lang" value="en"' in other
    assert 'href="/?lang=ko&amp;q=a"' in other
