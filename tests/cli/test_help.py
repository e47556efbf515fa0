"""``whichbits --help`` loads nothing that it does not show; benchmarks/start_up.py measures what that saves."""

import subprocess
import sys

HEAVY = ("numpy", "pyarrow", "aiohttp", "pydantic", "msgspec", "markdown_it", "rich.markdown", "whichbits.record")


def test_help_imports_nothing_heavy() -> None:
    command = f"""
import sys
from whichbits.cli import exit_code
code = exit_code(["--help"])
print([name for name in {HEAVY!r} if name in sys.modules], code)
"""
    told = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=True).stdout

    assert "Run a paced fake server" in told
    assert told.splitlines()[-1] == "[] 0"
