"""What a number means, and whether two mean the same: only then is their ratio one of servers, not of tools."""

from dataclasses import dataclass

from whichbits.analyze.summary import CellSummary, Metric
from whichbits.record.definitions import DEFINITIONS, OURS

_DEPENDS = {code for code in DEFINITIONS if code.endswith("_unknown")} | {"unstated"}
"""What a number means then depends on a version or a tool that the file does not name."""


@dataclass(frozen=True)
class Shared:
    """Where to read a metric on either side, and what to bear in mind; ``refusal`` says why it must not be compared."""

    holders: tuple[str, str]
    caveats: tuple[str, ...] = ()
    refusal: str | None = None


def meaning(cell: CellSummary, holder: str) -> str | None:
    """Return the definition's code of what stands in a cell under ``holder``; None if the tool does not define it."""
    return cell.definitions.get(holder) if cell.definitions else OURS.get(holder, holder)


def shared_meaning(first: CellSummary, second: CellSummary, metric: Metric) -> Shared:
    """Return how two cells can be held against each other under a metric.

    Where one of them counts from the send and the other can do so, too, both are read from the send.
    """
    holder = metric.partition(".")[0]
    offers = [_offers(cell, holder) for cell in (first, second)]
    for one, code in offers[0].items():
        for other, other_code in offers[1].items():
            if DEFINITIONS[code].family == DEFINITIONS[other_code].family:
                return Shared((_holder(one), _holder(other)), _caveats(code, other_code))
    codes = [meaning(cell, holder) for cell in (first, second)]
    return Shared((holder, holder), refusal=_refusal(codes))


def _offers(cell: CellSummary, holder: str) -> dict[str, str]:
    """Return definitions by where they are read, the preferred first."""
    code = meaning(cell, holder)
    offers = {holder: code} if code in DEFINITIONS else {}
    if cell.definitions:
        return offers
    if holder == "ttft_ms":
        return offers | {"ttft_from_send_ms": "ttft_send"}
    if holder == "e2e_ms" and cell.request_rate is None:
        return offers | {"e2e_ms from the free stream": "e2e_free_stream"}
    return offers


def _holder(offer: str) -> str:
    return offer.partition(" ")[0]


def _caveats(code: str, other: str) -> tuple[str, ...]:
    """Return what to bear in mind where meanings differ, or are the same only as far as a file tells."""
    told = (code, other) if code != other else (code,) if code in _DEPENDS else ()
    return tuple(dict.fromkeys(caveat for each in told if (caveat := DEFINITIONS[each].caveat)))


def _refusal(codes: list[str | None]) -> str:
    texts = ["not told by the tool" if code is None else _text(code) for code in codes]
    return f"defined differently: {texts[0]} / {texts[1]}"


def _text(code: str) -> str:
    return DEFINITIONS[code].text if code in DEFINITIONS else code
