"""Which runs a list shows, and in which order: the words and the column that its address names."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from whichbits.language.phrase import phrase
from whichbits.view.catalogue import Entry

COLUMNS: Mapping[str, tuple[str, Callable[[Entry], Any]]] = {
    "created": (phrase("Made"), lambda entry: entry.created),
    "study": (phrase("Study"), lambda entry: (entry.study.casefold(), entry.created)),
    "source": (phrase("Source"), lambda entry: entry.source),
    "arms": (phrase("Arms"), lambda entry: (len(entry.arms), entry.arms)),
    "progress": (phrase("State"), lambda entry: (entry.progress, entry.ended)),
    "client": (phrase("Client"), lambda entry: entry.client or ""),
}
"""By the name in the address: the heading, and what is sorted by."""

_NEWEST_FIRST = "-created"


@dataclass(frozen=True)
class Selection:
    """``words`` must all be in a run; ``order`` names a column, with a minus for the other way round."""

    words: str = ""
    order: str = _NEWEST_FIRST

    @classmethod
    def of(cls, query: Mapping[str, str]) -> "Selection":
        """Read an address; an order that is none is the usual one."""
        order = query.get("sort", _NEWEST_FIRST)
        return cls(query.get("q", "").strip(), order if order.lstrip("-") in COLUMNS else _NEWEST_FIRST)

    def choose(self, entries: Sequence[Entry]) -> list[Entry]:
        """Return the runs that are meant, in order."""
        wanted = self.words.casefold().split()
        found = [entry for entry in entries if all(word in entry.words for word in wanted)]
        _, key = COLUMNS[self.order.lstrip("-")]
        return sorted(found, key=key, reverse=self.order.startswith("-"))

    def direction(self, column: str) -> str | None:
        """Return how the list is sorted by a column, as assistive technology calls it; None if it is not."""
        if self.order.lstrip("-") != column:
            return None
        return "descending" if self.order.startswith("-") else "ascending"

    def turned(self, column: str) -> dict[str, str]:
        """Return the address's query that sorts by a column, the other way round if it is sorted by it."""
        order = f"-{column}" if self.direction(column) == "ascending" else column
        return {"q": self.words, "sort": order} if self.words else {"sort": order}
