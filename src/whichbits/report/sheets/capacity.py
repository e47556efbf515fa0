"""What one replica of each arm has room for, and what limits it."""

from collections.abc import Callable

from whichbits.analyze.limits.capacity import Capacity
from whichbits.analyze.summary import Summary
from whichbits.language.phrase import phrase
from whichbits.record.schema import Manifest
from whichbits.report.sheets.sheet import Sheet
from whichbits.report.wording import MISSING, number, share_text

_LIMITS = {"kv_cache": phrase("KV cache"), "max_num_seqs": phrase("scheduler cap"), "load": phrase("the load itself")}
_FACTS: tuple[tuple[str, Callable[[Capacity], str]], ...] = (
    (phrase("KV cache, tokens"), lambda room: number(room.kv_cache_tokens)),
    (phrase("KV cache, bytes a token"), lambda room: number(room.kv_bytes_per_token)),
    (phrase("a request of this traffic, tokens"), lambda room: number(room.tokens_per_request)),
    (phrase("such requests that fit"), lambda room: number(room.requests_that_fit)),
    (phrase("requests of full length that fit"), lambda room: number(room.worst_case_requests)),
    (phrase("scheduler cap"), lambda room: number(room.max_num_seqs)),
    (phrase("most requests at once that were offered"), lambda room: number(room.offered)),
    (phrase("what binds first"), lambda room: _LIMITS.get(room.binds or "", MISSING)),
    (phrase("CUDA graphs cost, tokens"), lambda room: number(room.cuda_graph_tokens)),
    (phrase("the largest step costs, tokens"), lambda room: number(room.activation_tokens)),
    (phrase("shared prefixes, tokens"), lambda room: number(room.prefix_working_set_tokens)),
    (phrase("shared prefixes / KV cache"), lambda room: share_text(room.prefix_working_set_share)),
)


def capacities(summary: Summary, _: Manifest) -> Sheet | None:
    """Return a fact a row and an arm a column; None if no engine told of its KV cache."""
    rooms = {arm: known.capacity for arm, known in summary.arms.items()}
    if not any(rooms.values()):
        return None
    rows = [(name, *(MISSING if room is None else told(room) for room in rooms.values())) for name, told in _FACTS]
    return Sheet(
        name="capacity",
        title=phrase("Capacity"),
        meaning=phrase(
            "Room of one replica. Engines print how many requests of full length fit; how many of this "
            "traffic do is another number. Shared prefixes beyond 100 % of the KV cache evict each other."
        ),
        headings=(phrase("of one replica"), *rooms),
        rows=tuple(row for row in rows if any(told != MISSING for told in row[1:])),
    )
