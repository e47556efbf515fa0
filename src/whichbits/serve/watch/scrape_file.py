"""The scrapes that a run keeps of one replica, one JSON line each: what the last of them says."""

from dataclasses import replace

import msgspec

from whichbits.record.inspection import Inspection
from whichbits.record.scrapes import Scrape
from whichbits.serve.metrics import facts as metric_names

_FIRST = '{"arm":'


def recognise(name: str, text: str) -> Inspection | None:
    """Return the metrics of the last whole scrape, and which replica they are of; None for any other text.

    Counters count from the start of the server: what a cell added is the difference of its two scrapes.
    """
    if not text.startswith(_FIRST):
        return None
    scrapes = [scrape for line in text.splitlines() if (scrape := _scrape(line))]
    if not scrapes:
        return None
    last = scrapes[-1]
    read = metric_names.recognise(name, last.text)
    if read is None:
        return None
    whose = {"scrapes": len(scrapes), "arm": last.arm, "replica": last.replica, "cell": last.cell, "phase": last.phase}
    return replace(read, facts=whose | read.facts)


def _scrape(line: str) -> Scrape | None:
    try:
        return msgspec.json.decode(line.encode(errors="replace"), type=Scrape)
    except (msgspec.MsgspecError, RecursionError):
        return None
