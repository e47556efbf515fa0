"""What a run holds: the request timeline, the manifest, and their types. Version 1.

Times are monotonic nanoseconds against the run's origin (``Manifest.origin_unix_ns`` ties them to the wall
clock). Missing is ``None``, never 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

SCHEMA_VERSION = 1

Source = Literal["measured", "predicted", "imported"]
CellState = Literal["planned", "done", "interrupted", "skipped"]
TokenCountSource = Literal["usage", "tokenize endpoint", "tokenizer", "chunks"]
ClientVerdict = Literal["client_ok", "client_suspect", "client_limited"]


@dataclass(frozen=True, slots=True)
class RequestRecord:
    """One request as the client saw it; ``chunk_*`` hold one entry a chunk that carried generated content."""

    index: int
    replica: str | None
    requested_output_tokens: int
    prompt_tokens: int | None
    cached_tokens: int | None
    output_tokens: int | None
    scheduled_ns: int
    sent_ns: int | None
    first_byte_ns: int | None
    finished_ns: int | None
    chunk_ns: Sequence[int]
    chunk_tokens: Sequence[int]
    finish_reason: str | None
    done_seen: bool
    http_status: int | None
    error_code: str | None
    error: str | None
    text: str | None = None
    """What was generated, until its tokens are counted; it is not stored."""

    @property
    def succeeded(self) -> bool:
        """True if it ended well with the tokens asked for; see the design's definition of success."""
        return self.error_code is None


@dataclass(frozen=True)
class ClientHealth:
    """Whether the client could have been the limit in a cell, and the numbers that decide it."""

    verdict: ClientVerdict
    reasons: tuple[str, ...]
    send_lag_p99_ms: float | None
    loop_lag_p99_ms: float | None
    cpu_share: float | None
    sub_millisecond_gap_share: float | None
    workers: int | None = None
    """Processes that sent the cell's requests; None, as below, in runs of before these were kept."""
    read_lag_p99_ms: float | None = None
    """From the kernel's stamp of a read to the read; None without kernel stamps."""
    merged_gap_share: float | None = None
    """Share of gaps between chunks that one read, or one stamp, made nothing."""
    kernel_stamps: bool | None = None
    requested_rate: float | None = None
    """Planned arrivals a second, of an open loop; ``achieved_rate`` sends a second."""
    achieved_rate: float | None = None
    clock_error_ms: float | None = None
    """Where workers were on several machines: how far the worst known clock may be off; None on one machine."""
    clock_drift_ms: float | None = None
    """The most that a machine's clock moved against the lead's during the cell; stamps are shifted as at its begin."""


@dataclass(frozen=True)
class Imported:
    """What another tool says of a cell, and what it means by it.

    ``definitions`` names, by the holder of an address in summary.json (``ttft_ms``), the entry of
    ``record.definitions`` that says what the number is. What is not named there is not known, even where requests
    would yield a number. ``statistics`` holds numbers by address (``ttft_ms.p99``); where there are requests, those
    give the latencies.
    """

    tool: str
    definitions: dict[str, str]
    statistics: dict[str, float] = field(default_factory=dict)
    requests: int | None = None
    """How many requests the statistics describe, failed ones included."""
    one_clock: bool = True
    """False if the send times of requests are not known against each other."""


@dataclass(frozen=True)
class Cell:
    """Arm x load x repeat: one stretch of traffic and how it ended."""

    cell: int
    arm: str
    concurrency: int | None
    request_rate: float | None
    repeat: int
    state: CellState = "planned"
    requests: int | None = None
    failed: int | None = None
    started_ns: int | None = None
    finished_ns: int | None = None
    client: ClientHealth | None = None
    cache_state: str | None = None
    other_cpu_cores: float | None = None
    """Cores that processes other than whichbits and its servers kept busy on average; None if not known."""
    notes: tuple[str, ...] = ()
    imported: Imported | None = None
    """None for a cell that whichbits measured or predicted."""
    block: int | None = None
    """Of a cell that a search decided: the step it belongs to; cells of one block met the same server starts."""
    draws: dict[str, tuple[float, ...]] = field(default_factory=dict)
    """Of a predicted cell: each quantity by its address in summary.json, under each draw of the constants."""
    token_count_source: TokenCountSource | None = None
    """Who counted output tokens: the server's usage, or else what comes next of those named; None if not measured."""


@dataclass(frozen=True)
class Fact:
    """A value read from somewhere, with the line it came from."""

    value: str | int | float | bool | None
    source: str
    line: str | None = None


@dataclass(frozen=True)
class ReplicaRecord:
    """One server process of an arm: how it was started and what it said of itself."""

    replica: str
    command: tuple[str, ...]
    environment: dict[str, str]
    url: str
    ready_seconds: float | None
    log: str | None
    facts: dict[str, Fact]


@dataclass(frozen=True)
class ArmRecord:
    """One served variant: what was claimed, what the checkpoint holds, what each replica said."""

    arm: str
    weight_format: str
    engine: str
    checkpoint: dict[str, Fact]
    replicas: tuple[ReplicaRecord, ...]
    warm_up_tpot_ms: tuple[float, ...] = ()
    """Median TPOT of each warm-up round of the last visit: kept, not dropped."""
    warm_up_stable: bool | None = None
    """False if warming gave up before two rounds agreed; None, as below, in runs of before these were kept."""
    warm_up_s: float | None = None


@dataclass(frozen=True)
class SearchStep:
    """Cells that a search decided together, what for, and what they bought; None while they are not all measured."""

    block: int
    cells: tuple[int, ...]
    purpose: str
    bought: str | None = None


@dataclass(frozen=True)
class SearchRecord:
    """How far a search is; ``spent_s`` is machine time over all sittings, ``ended`` why it is over."""

    spent_s: float = 0.0
    steps: tuple[SearchStep, ...] = ()
    ended: str | None = None
    enough_s: float | None = None
    """If the budget ended it, the least that would have led to an answer, by what cells took; None if nobody knows."""


@dataclass(frozen=True)
class Manifest:
    """run.json: everything about a run but its request timelines, scrapes and logs."""

    schema_version: int
    source: Source
    name: str
    study: dict[str, Any]
    created: str
    origin_unix_ns: int
    host: dict[str, Any]
    tools: dict[str, str]
    arms: dict[str, ArmRecord] = field(default_factory=dict)
    cells: tuple[Cell, ...] = ()
    interrupted: bool = False
    notes: tuple[str, ...] = ()
    traffic: dict[str, Any] = field(default_factory=dict)
    """Of traffic that comes from a file or a run: which bytes these were, what was usable, how tokens are counted."""
    search: SearchRecord | None = None
    """Of a study whose cells are decided while it runs."""
