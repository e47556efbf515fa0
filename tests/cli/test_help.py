"""``whichbits --help`` loads nothing that it does not show; benchmarks/start_up.py measures what that saves."""

import subprocess
import sys

HEAVY = (
    "numpy",
    "pyarrow",
    "aiohttp",
    "pydantic",
    "msgspec",
    "markdown_it",
    "rich.markdown",
    "whichbits.record",
    "whichbits.language",
)


def imported(*words: str) -> tuple[str, str]:
    """Return what help says in a new process, and which of the heavy modules it loaded."""
    command = f"""
import sys
from whichbits.cli import exit_code
code = exit_code({words!r})
print([name for name in {HEAVY!r} if name in sys.modules], code)
"""
    told = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=True).stdout
    page, _, loaded = told.rstrip().rpartition("\n")
    return page, loaded


def test_help_imports_nothing_heavy() -> None:
    page, loaded = imported("--help")

    assert "Run a paced fake server" in page
    assert loaded == "[] 0"


def test_help_in_korean_adds_the_language_only() -> None:
    page, loaded = imported("--help", "--lang", "ko")

    assert "가짜 서버" in page
    assert loaded == "['whichbits.language'] 0"
