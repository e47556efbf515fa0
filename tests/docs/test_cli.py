"""docs/cli.md shows the verbs and flags that there are."""

from tests.docs.pages import page
from whichbits.cli.reference import BEGIN, END, reference, refreshed, verbs

PAGE = page("cli.md")


def test_the_sections_are_current() -> None:
    assert refreshed(PAGE) == PAGE, "run `python -m whichbits.cli.reference docs/cli.md`"


def test_every_verb_has_a_section_with_its_flags() -> None:
    for verb in verbs():
        assert f"\n## {verb}\n" in PAGE
    assert "| `--fail-on` | text, several | – | Exit with 5 if" in PAGE  # noqa: RUF001 - the page's own dash
    assert "| `--prompt` | `token_ids`, `text` |" in PAGE


def test_stale_sections_are_replaced_and_the_prose_around_them_stays() -> None:
    stale = f"before\n{BEGIN}\nold\n{END}\nafter\n"

    assert refreshed(stale) == f"before\n{BEGIN}\n\n{reference()}\n\n{END}\nafter\n"
