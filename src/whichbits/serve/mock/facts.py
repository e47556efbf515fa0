"""What a mock says of itself in its log: one line of facts, written and read here."""

import sys
import time
from dataclasses import asdict

import msgspec

from whichbits.record.schema import Fact
from whichbits.serve.mock.settings import MockSettings

_SOURCE = "server log"
_MARK = "[mock] settings "
DEVICE = "none: a mock, whose times are ordered"


def announce(settings: MockSettings) -> None:
    """Print the line."""
    say("INFO", f"settings {msgspec.json.encode(asdict(settings)).decode()}")


def say(level: str, text: str) -> None:
    """Print one log line on stderr at once."""
    sys.stderr.write(f"{level} {time.strftime('%H:%M:%S')} [mock] {text}\n")
    sys.stderr.flush()


def read_facts(log_text: str) -> dict[str, Fact]:
    """Return what a log tells; empty if no mock wrote it."""
    line = next((line for line in log_text.splitlines() if _MARK in line), None)
    if line is None:
        return {}
    told = msgspec.json.decode(line.partition(_MARK)[2], type=dict[str, str | int | float | bool])
    found = {
        "mock": True,
        "device_name": DEVICE,
        "enable_prefix_caching": told["prefix_cache"],
        "max_num_seqs": told["slots"] or None,
        **{f"mock_{name}": value for name, value in told.items() if name not in ("model", "truth_requests")},
    }
    return {name: Fact(value, _SOURCE, line) for name, value in found.items()}


def read_failure(log_text: str) -> str | None:
    """Return the first line that says why a mock ended; None if it does not say."""
    return next((line.partition("[mock] ")[2] for line in log_text.splitlines() if line.startswith("ERROR ")), None)
