"""What one replica of each arm has room for, and what limits it."""

from collections.abc import Callable

from whichbits.analyze.capacity import Capacity
from whichbits.analyze.summary import Summary
from whichbits.record.schema import Manifest
from whichbits.report.sheets.sheet import Sheet
from whichbits.report.wording import MISSING, number, share_text

_LIMITS = {"kv_cache": "KV cache", "max_num_seqs": "scheduler cap", "load": "the load itself"}
_FACTS: tuple[tuple[str, Callable[[Capacity], str]], ...] = (
    ("KV cache, tokens", lambda room: number(room.kv_cache_tokens)),
    ("KV cache, bytes a token", lambda room: number(room.kv_bytes_per_token)),
    ("a request of this traffic, tokens", lambda room: number(room.tokens_per_request)),
    ("such requests that fit", lambda room: number(room.requests_that_fit)),
    ("requests of full length that fit", lambda room: number(room.worst_case_requests)),
    ("scheduler cap", lambda room: number(room.max_num_seqs)),
    ("most requests at once that were offered", lambda room: number(room.offered)),
    ("what binds first", lambda room: _LIMITS.get(room.binds or "", MISSING)),
    ("CUDA graphs cost, tokens", lambda room: number(room.cuda_graph_tokens)),
    ("the largest step costs, tokens", lambda room: number(room.activation_tokens)),
    ("shared prefixes, tokens", lambda room: number(room.prefix_working_set_tokens)),
    ("shared prefixes / KV cache", lambda room: share_text(room.prefix_working_set_share)),
)


def capacities(summary: Summary, _: Manifest) -> Sheet | None:
    """Return a fact a row and an arm a column; None if no engine told of its KV cache."""
    rooms = {arm: known.capacity for arm, known in summary.arms.items()}
    if not any(rooms.values()):
        return None
    rows = [(name, *(MISSING if room is None else told(room) for room in rooms.values())) for name, told in _FACTS]
    return Sheet(
        name="capacity",
        title="Capacity",
        meaning="Room of one replica. Engines print how many requests of full length fit; how many of this traffic do "
        "is another number. Shared prefixes beyond 100 % of the KV cache evict each other.",
        headings=("of one replica", *rooms),
        rows=tuple(row for row in rows if any(told != MISSING for told in row[1:])),
    )
