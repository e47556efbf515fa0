"""Commands within a sentence become code, and nothing else of it becomes markup."""

from whichbits.report.coded import coded


def test_what_stands_between_backticks_is_code_and_the_rest_is_text() -> None:
    assert coded("run `whichbits view <b>` & see") == "run <code>whichbits view &lt;b&gt;</code> &amp; see"


def test_a_lone_backtick_stays_one() -> None:
    assert coded("a ` b") == "a ` b"
