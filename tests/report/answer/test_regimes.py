"""The answer by regime in all three reports, with what it holds for; nothing where there is none."""

from dataclasses import replace

import pytest

from tests.report.make_summary import make_manifest, make_summary
from whichbits.analyze.summary import Summary
from whichbits.analyze.summary.verdicts import Answer, Regime
from whichbits.language.phrase import phrase
from whichbits.report.html import html
from whichbits.report.markdown import markdown
from whichbits.report.terminal import text

ANSWER = Answer(
    regimes=(
        Regime(
            "low_load",
            "w4a8",
            phrase("{title}median TPOT 15.0 at 1 concurrent request, 27% ahead of w8a8", title="w4a8: "),
        ),
        Regime("high_load_latency", None, "It depends on the SLO, of which the study has none."),
        Regime(
            "high_load_throughput",
            "fp16",
            phrase("{title}output throughput 325 at 32 concurrent requests, 9% ahead", title="fp16: "),
        ),
    ),
    holds_for={"hardware": None, "model": "smollm2"},
    would_flip=("one activation type for all arms",),
    not_known=("what fewer bits cost in answers",),
)


def pages(summary: Summary) -> list[str]:
    manifest = make_manifest()
    files = (text(summary, manifest), markdown(summary, manifest), html(summary, manifest))
    return [" ".join(next(iter(made.values())).decode().split()) for made in files]


@pytest.fixture(scope="module")
def answered() -> list[str]:
    return pages(replace(make_summary(), answer=ANSWER))


@pytest.mark.parametrize("kind", [0, 1, 2], ids=["terminal", "markdown", "html"])
def test_each_regime_names_its_arm_or_none_and_why(answered: list[str], kind: int) -> None:
    page = answered[kind]

    assert page.index("Low load") < page.index("High load, latency") < page.index("High load, throughput")
    # The terminal breaks lines within a column.
    for words in ("15.0 at", "It depends on the SLO", "325 at"):
        assert words in page
    assert "w4a8: median TPOT" not in page


def test_the_terminal_says_where_the_answers_scope_is_told(answered: list[str]) -> None:
    assert "What it holds for, what would flip it, what is not known: see report.html." in answered[0]


@pytest.mark.parametrize("kind", [1, 2], ids=["markdown", "html"])
def test_the_answers_scope_stands_below_it(answered: list[str], kind: int) -> None:
    page = answered[kind].lower()

    for words in ("hardware: not known", "model: smollm2", "one activation type for all arms", "what fewer bits cost"):
        assert words in page


def test_without_an_answer_there_is_no_such_table() -> None:
    assert not any("High load, latency" in page for page in pages(make_summary()))
