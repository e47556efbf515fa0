"""Which findings a reader must see first, and their first sentence."""

import re
from collections import Counter
from collections.abc import Sequence

from whichbits.analyze.summary import Finding

DOUBTS = {
    "arm_is_mock",
    "unfinished",
    "requests_failed",
    "client_limited",
    "unequal_work",
    "books_disagree",
    "other_traffic",
    "machine_not_quiet",
    "cache_not_cold",
    "activation_quantization_ineffective",
    "quality_broken",
}
"""What makes numbers wrong."""
_ANSWERS = {"slo_load", "crossover", "alignment_matters"}
_FOOTNOTES = {"thin_tails", "tails_not_compared", "crossings_from_one_repeat", "cache_unknown", "books_explained"}
_OF_KIND = {"interpretation": 1, "observed": 2, "unresolved": 3}


def most_important(findings: Sequence[Finding], at_most: int) -> tuple[tuple[Finding, int], ...]:
    """Return the findings to show where there is room for few: what makes numbers wrong, answers, causes, the rest.

    Each comes with how many more there are of its code, which say the same of other cells or pairs.
    """
    first: dict[str, Finding] = {}
    for finding in sorted(findings, key=_rank):
        first.setdefault(finding.code, finding)
    alike = Counter(finding.code for finding in findings)
    return tuple((finding, alike[code] - 1) for code, finding in first.items())[:at_most]


_SAID = re.compile(r"다(?:\([^()]*\))?[.:;](?= |$)")
"""Where a Korean clause has its predicate behind it: what follows a colon or semicolon then is a list or another."""
_STOP = re.compile(r"\.(?= |$)")


def in_short(text: str, longest: int) -> str:
    """Return as many whole sentences as fit, or the beginning of the first.

    A Korean sentence says at its end what it says: its first clause stays whole, also where that is longer.
    """
    if len(text) <= longest:
        return text
    said = [end.end() for end in _SAID.finditer(text)]
    stop = _STOP.search(text)
    if not said or stop is None or stop.end() < said[0]:
        return _cut(text, longest)
    end = max((each for each in said if each <= longest), default=said[0])
    return text[:end] if text[end - 1] == "." else f"{text[: end - 1]} …"


def _cut(text: str, longest: int) -> str:
    ends = [end.start() + 1 for end in re.finditer(r"[.;:](?= )", text) if end.start() < longest]
    if ends and ends[-1] > longest // 3:
        return text[: ends[-1]].rstrip(":;") + (" …" if text[ends[-1] - 1] != "." else "")
    return text[: text.rindex(" ", 0, longest)] + " …" if " " in text[:longest] else text[: longest - 1] + "…"


def _rank(finding: Finding) -> int:
    if finding.code in DOUBTS:
        return 0
    if finding.code in _ANSWERS:
        return 1
    return 4 if finding.code in _FOOTNOTES else _OF_KIND[finding.kind]
