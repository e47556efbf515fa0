"""Synthetic runs of known truth: a closed loop whose streams send back to back, with every delay given."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from whichbits.record.schema import (
    ArmRecord,
    Cell,
    ClientHealth,
    ClientVerdict,
    Fact,
    Manifest,
    ReplicaRecord,
    RequestRecord,
)
from whichbits.record.scrapes import Scrape
from whichbits.record.writer import RunWriter

MS = 1_000_000


@dataclass(frozen=True)
class PowerLaw:
    """``at_one * load ** slope``: a straight line in log-log, so that crossings are known exactly."""

    at_one: float
    slope: float = 0.0

    def __call__(self, load: float) -> float:
        return float(self.at_one * load**self.slope)


@dataclass(frozen=True)
class SyntheticArm:
    """An arm that answers each load with these times, in milliseconds, to every request alike."""

    tpot_ms: Callable[[float], float]
    ttft_ms: Callable[[float], float] = PowerLaw(20.0)
    weight_format: str = "bf16"
    cache_state: str = "salted"
    other_cpu_cores: float = 0.01
    prompt_tokens: int = 100
    cached_tokens: int | None = 0
    output_tokens: int = 11
    failed_requests: int = 0
    client: ClientVerdict = "client_ok"
    facts: dict[str, Fact] = field(default_factory=dict)


TWO_ARMS = {
    "bf16": SyntheticArm(tpot_ms=PowerLaw(12.0, 0.1)),
    "w4a16": SyntheticArm(tpot_ms=PowerLaw(6.0, 0.35), weight_format="w4a16"),
}
"""Median TPOT crosses where 12 * load**0.1 = 6 * load**0.35: at load 16."""


def manifest(name: str = "synthetic", cells: Sequence[Cell] = ()) -> Manifest:
    return Manifest(
        schema_version=1,
        source="measured",
        name=name,
        study={"name": name, "slo": None},
        created="2026-11-29T14:04:31+00:00",
        origin_unix_ns=1_795_961_071_000_000_000,
        host={"cpus": 4},
        tools={"whichbits": "0.1.0"},
        cells=tuple(cells),
    )


def record(index: int = 0, start_ns: int = 0, ttft_ms: float = 20, tpot_ms: float = 10, n: int = 11) -> RequestRecord:
    """One good answer of ``n`` tokens, a chunk a token, sent 1 ms after it was scheduled."""
    first = start_ns + round(ttft_ms * MS)
    chunks = tuple(first + round(tpot_ms * MS * token) for token in range(n))
    return RequestRecord(
        index=index,
        replica="0",
        requested_output_tokens=n,
        prompt_tokens=100,
        cached_tokens=0,
        output_tokens=n,
        scheduled_ns=start_ns,
        sent_ns=start_ns + MS,
        first_byte_ns=first,
        finished_ns=chunks[-1] + MS,
        chunk_ns=chunks,
        chunk_tokens=(1,) * n,
        finish_reason="length",
        done_seen=True,
        http_status=200,
        error_code=None,
        error=None,
    )


def failed(good: RequestRecord) -> RequestRecord:
    """The same request, cut off by the server before any content."""
    return replace(
        good,
        output_tokens=None,
        chunk_ns=(),
        chunk_tokens=(),
        finish_reason=None,
        done_seen=False,
        error_code="connection_lost",
        error="the server closed the connection",
    )


def cell_records(arm: SyntheticArm, streams: int, requests: int, start_ns: int) -> list[RequestRecord]:
    """``streams`` streams in lockstep, each sending its next request the moment the last one ended."""
    free_ns = [start_ns] * streams
    records = []
    for index in range(requests):
        stream = index % streams
        times = (arm.ttft_ms(streams), arm.tpot_ms(streams), arm.output_tokens)
        answer = replace(
            record(index, free_ns[stream], *times),
            prompt_tokens=arm.prompt_tokens,
            cached_tokens=arm.cached_tokens,
        )
        free_ns[stream] = answer.finished_ns or 0
        records.append(failed(answer) if index < arm.failed_requests else answer)
    return records


def ended(
    cell: Cell,
    records: Sequence[RequestRecord],
    verdict: ClientVerdict = "client_ok",
    cache_state: str = "salted",
    other_cpu_cores: float = 0.01,
) -> Cell:
    return replace(
        cell,
        state="done",
        requests=len(records),
        failed=sum(not one.succeeded for one in records),
        started_ns=min(one.scheduled_ns for one in records),
        finished_ns=max(one.finished_ns or 0 for one in records),
        client=ClientHealth(verdict, (), 1.0, 1.0, 0.2, 0.0),
        cache_state=cache_state,
        other_cpu_cores=other_cpu_cores,
    )


def arm_record(name: str, arm: SyntheticArm) -> ArmRecord:
    replica = ReplicaRecord("0", ("serve", name), {}, "http://127.0.0.1:8000", 3.5, None, arm.facts)
    width = {"w4": 4, "w8": 8}.get(arm.weight_format[:2], 16)
    checkpoint = {"model": Fact("synthetic-135m", "config.json"), "linear_bits": Fact(width, "config.json")}
    return ArmRecord(name, arm.weight_format, "embedded", checkpoint, (replica,))


def make_run(
    parent: Path,
    arms: dict[str, SyntheticArm] | None = None,
    loads: Sequence[int] = (1, 4, 32),
    repeats: int = 1,
    per_stream: int = 4,
) -> Path:
    """Write a finished run of all arms x loads x repeats, and return its folder."""
    chosen = TWO_ARMS if arms is None else arms
    keys = [(arm, load, repeat) for arm in chosen for load in loads for repeat in range(repeats)]
    cells = [Cell(number, arm, load, None, repeat) for number, (arm, load, repeat) in enumerate(keys)]
    writer = RunWriter.create(parent, manifest(cells=cells))
    for name, arm in chosen.items():
        writer.arm(arm_record(name, arm))
    for cell in cells:
        _write_cell(writer, cell, chosen[cell.arm], per_stream)
    return writer.finish()


def _write_cell(writer: RunWriter, cell: Cell, arm: SyntheticArm, per_stream: int) -> None:
    streams, start_ns = cell.concurrency or 1, cell.cell * 1_000_000 * MS
    records = cell_records(arm, streams, streams * per_stream, start_ns)
    done = ended(cell, records, arm.client, arm.cache_state, arm.other_cpu_cores)
    writer.scrape(Scrape(cell.arm, "0", cell.cell, "before", start_ns, counters(())))
    writer.cell(done, records)
    writer.scrape(Scrape(cell.arm, "0", cell.cell, "after", done.finished_ns or 0, counters(records)))


def counters(records: Sequence[RequestRecord]) -> str:
    """What a vLLM-style /metrics would say after exactly these requests."""
    good = [one for one in records if one.succeeded]
    totals = {
        "prompt_tokens_total": sum(one.prompt_tokens or 0 for one in good),
        "generation_tokens_total": sum(one.output_tokens or 0 for one in good),
        "prefix_cache_queries_total": sum(one.prompt_tokens or 0 for one in good),
        "prefix_cache_hits_total": sum(one.cached_tokens or 0 for one in good),
        'request_success_total{finished_reason="length"}': len(good),
    }
    return "".join(f"vllm:{name} {value}.0\n" for name, value in totals.items())
