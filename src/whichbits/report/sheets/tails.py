"""Where a pair of arms trades places at the median, at p90 and at p99, side by side."""

from whichbits.analyze.summary import Crossover, Summary
from whichbits.language.phrase import joined, phrase
from whichbits.record.schema import Manifest
from whichbits.report.sheets.sheet import Sheet
from whichbits.report.wording import LOAD_NAMES, MISSING, leader_text, short_load, verdict_texts

_TIMES = {"tpot_ms": "TPOT", "itl_ms": "ITL", "ttft_ms": "TTFT", "e2e_ms": "E2E"}
_RUNGS = ("p50", "p90", "p99")


def tail_ladder(summary: Summary, _: Manifest) -> Sheet | None:
    """Return a row for each time and pair that a tail is known of, too."""
    known: dict[tuple[str, tuple[str, str]], Crossover] = {
        (each.metric, each.arms): each for each in summary.crossovers
    }
    pairs = tuple(dict.fromkeys(each.arms for each in summary.crossovers))
    rows = tuple(
        (
            name,
            joined(" / ", pair),
            *(rung_text(known.get((f"{time}.{rung}", pair))) for rung in _RUNGS),
        )
        for time, name in _TIMES.items()
        for pair in pairs
    )
    shown = tuple(row for row in rows if any(cell != MISSING for cell in row[3:]))
    if not shown:
        return None
    return Sheet(
        name="tails",
        title=phrase("Tail ladder"),
        meaning=phrase(
            "Where the lead changes, in {load}, for the median and its tails. {missing}: fewer than 10 "
            "samples lie beyond the percentile, so that it is not compared.",
            load=LOAD_NAMES[summary.load_unit],
            missing=MISSING,
        ),
        headings=(phrase("time"), phrase("arms"), *_RUNGS),
        rows=shown,
        words=5,
    )


def rung_text(crossover: Crossover | None) -> str:
    """Return the verdict of one percentile in a few words."""
    if crossover is None:
        return MISSING
    if crossover.verdict == "crosses":
        return _crossing(crossover)
    return {"none": _throughout(crossover), "tie": phrase("tie"), "noisy": phrase("too noisy")}[crossover.verdict]


def _crossing(crossover: Crossover) -> str:
    leaders, where = leader_text(crossover), joined(", ", verdict_texts(crossover))
    if any(map(crossover.is_placed, crossover.crossings)):
        return phrase("{leaders} at {where}", leaders=leaders, where=where)
    return phrase("{leaders}, {where}", leaders=leaders, where=where)


def _throughout(crossover: Crossover) -> str:
    """Return the one arm that leads, and over which loads: a tail is often compared at the highest ones only."""
    leader = crossover.leader_high_load or crossover.leader_low_load
    if leader is None or not crossover.loads:
        return MISSING
    low, high = short_load(crossover.loads[0]), short_load(crossover.loads[-1])
    if low == high:
        return phrase("{arm} at {load}", arm=leader, load=low)
    return phrase("{leader} from {low} to {high}", leader=leader, low=low, high=high)
