"""What a number means, and whether two numbers mean the same: only then is their ratio one of servers, not of tools."""

from dataclasses import dataclass

from whichbits.analyze.summary import CellSummary, Metric
from whichbits.record.definitions import DEFINITIONS, OURS


@dataclass(frozen=True)
class Shared:
    """The holders to read a metric from on either side, and what to bear in mind; ``refusal`` if none may be compared."""

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
    """Return what to bear in mind: always of meanings that a version decides, else of meanings that differ."""
    unsure = [each for each in (code, other) if each != other or code != other or each.endswith("_unknown")]
    told = [DEFINITIONS[each].caveat for each in (unsure if code != other else unsure[:1])]
    return tuple(dict.fromkeys(caveat for caveat in told if caveat))


def _refusal(codes: list[str | None]) -> str:
    texts = ["not told by the tool" if code is None else _text(code) for code in codes]
    return f"defined differently: {texts[0]} / {texts[1]}"


def _text(code: str) -> str:
    return DEFINITIONS[code].text if code in DEFINITIONS else code
