"""Runs of any size, as a measured study would leave them: mock timings in the run's format, with scrapes.

An arm is an engine whose step takes a + b x streams ms, and longer where a prompt joins; each stream sends its next
request the moment the last one ended. Nothing here is a measurement of any model.

    python -m benchmarks.large_run SHAPE FOLDER
"""

import gzip
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import numpy as np

from benchmarks.vllm_scrape import Served, scrape_text
from whichbits.record.schema import ArmRecord, Cell, ClientHealth, Fact, Manifest, ReplicaRecord, RequestRecord
from whichbits.record.scrapes import Scrape, during_path
from whichbits.record.timelines import Floats
from whichbits.record.writer import RunWriter
from whichbits.study.model import Study

_MS = 1_000_000
_SCRAPE_EVERY_NS = 500 * _MS
_PROMPT_TOKENS = 218
_FORMATS = (("fp16", 16.0, 0.10), ("w8a8-fp8", 9.0, 0.08), ("w8a8-int8", 9.5, 0.09), ("w4a16", 5.5, 0.16))
"""Weight format, ms of a step without load, ms more for each stream."""
_JOINING_MS = 12.0
_PARAMETERS = 6_525_288_448
"""Of the linear layers: those of Qwen2.5-7B."""


@dataclass(frozen=True)
class Shape:
    """How large a run is: arms x loads x repeats cells, sized as a study's ``cell`` sizes them."""

    arms: int = 4
    loads: tuple[int, ...] = (1, 4, 16, 32, 64, 128)
    repeats: int = 2
    per_stream: int = 3
    at_least: int = 12
    output_tokens: int = 170

    def requests(self, streams: int) -> int:
        """Return how many requests a cell has."""
        return max(self.at_least, self.per_stream * streams)


SHAPES = {
    "1M": Shape(),
    "10M": Shape(per_stream=30, at_least=120),
    "600 cells": Shape(arms=10, loads=tuple(range(1, 21)), repeats=3, output_tokens=40),
    "60 loads": Shape(arms=2, loads=tuple(range(1, 61)), repeats=5, output_tokens=40),
    "300 arms": Shape(arms=300, loads=(4, 32), repeats=1, per_stream=2, output_tokens=24),
    "60 arms": Shape(arms=60, loads=tuple(range(1, 11)), output_tokens=16),
    "400 loads": Shape(arms=2, loads=tuple(range(1, 401)), repeats=1, per_stream=1, output_tokens=10),
}
"""48 cells with 6,000 requests of 170 tokens; ten times that; and many small cells in shapes that strain a report."""


@dataclass(frozen=True)
class MockArm:
    """A served variant; a step takes ``base_ms`` and ``stream_ms`` for each stream."""

    name: str
    weight_format: str
    base_ms: float
    stream_ms: float


def mock_arms(count: int) -> list[MockArm]:
    """Return as many arms: the four formats, and then the same, each round a little slower."""
    chosen = []
    for number in range(count):
        turn, at = divmod(number, len(_FORMATS))
        name, base_ms, stream_ms = _FORMATS[at]
        chosen.append(
            MockArm(f"{name}-{turn + 1}" if turn else name, name, base_ms * 1.03**turn, stream_ms * 1.02**turn)
        )
    return chosen


def write_run(parent: Path, shape: Shape, name: str = "large") -> Path:
    """Write a finished run and return its folder."""
    arms = {arm.name: arm for arm in mock_arms(shape.arms)}
    keys = [(arm, load, repeat) for repeat in range(shape.repeats) for load in shape.loads for arm in arms]
    cells = [Cell(number, arm, load, None, repeat) for number, (arm, load, repeat) in enumerate(keys)]
    writer = RunWriter.create(parent, _manifest(name, shape, cells))
    for arm in arms.values():
        writer.arm(_record_of(arm))
    now_ns = 0
    for cell in cells:
        now_ns = _write_cell(writer, cell, arms[cell.arm], shape, now_ns) + 2_000 * _MS
    return writer.finish()


def _write_cell(writer: RunWriter, cell: Cell, arm: MockArm, shape: Shape, start_ns: int) -> int:
    records = list(_requests(arm, cell, shape, start_ns))
    end_ns = max(record.finished_ns or 0 for record in records)
    served = Served.of(records)
    outer = {"before": start_ns, "after": end_ns}
    for phase, time_ns in outer.items():
        text = scrape_text(arm.name, served.at(time_ns))
        writer.scrape(Scrape(arm.name, "0", cell.cell, "before" if phase == "before" else "after", time_ns, text))
    with during_path(writer.folder, arm.name, "0").open("ab") as file:
        for time_ns in range(start_ns + _SCRAPE_EVERY_NS, end_ns, _SCRAPE_EVERY_NS):
            scrape = Scrape(arm.name, "0", cell.cell, "during", time_ns, scrape_text(arm.name, served.at(time_ns)))
            file.write(gzip.compress(msgspec.json.encode(scrape) + b"\n", 6))
    writer.cell(_ended(cell, len(records), start_ns, end_ns), records)
    return end_ns


def _requests(arm: MockArm, cell: Cell, shape: Shape, start_ns: int) -> Iterator[RequestRecord]:
    """Yield the requests of a cell: all streams get their next token at the end of the same step."""
    random, streams = np.random.default_rng(cell.cell), cell.concurrency or 1
    count = shape.requests(streams)
    shared = np.random.default_rng([cell.repeat, streams])  # arms meet the same requests
    lengths = np.clip(shared.lognormal(np.log(shape.output_tokens) - 0.08, 0.4, count), 8, None).astype(np.int64)
    prompts = np.clip(shared.lognormal(np.log(_PROMPT_TOKENS) - 0.5, 1.0, count), 8, 3000).astype(np.int64)
    firsts = np.zeros(count, np.int64)
    for index in range(streams, count):
        firsts[index] = firsts[index - streams] + lengths[index - streams]
    steps_ns = _steps_ns(arm, streams, firsts, int((firsts + lengths).max()), random)
    for index in range(count):
        first, length = int(firsts[index]), int(lengths[index])
        times = start_ns + steps_ns[first + 1 : first + 1 + length] + random.integers(40_000, 90_000)
        yield _answered(index, start_ns + round(steps_ns[first]), int(prompts[index]), times.astype(np.int64))


def _steps_ns(arm: MockArm, streams: int, firsts: np.ndarray, steps: int, random: np.random.Generator) -> Floats:
    """Return when each step begins, and the last one ends."""
    joining = np.bincount(firsts, minlength=steps)
    plain_ms = (arm.base_ms + arm.stream_ms * streams) * random.lognormal(0, 0.02, steps)
    return np.concatenate([[0.0], np.cumsum(plain_ms + _JOINING_MS * np.minimum(joining, 8))]) * _MS


def _answered(index: int, sent_ns: int, prompt: int, times_ns: np.ndarray) -> RequestRecord:
    return RequestRecord(
        index=index,
        replica="0",
        requested_output_tokens=times_ns.size,
        prompt_tokens=prompt,
        cached_tokens=0,
        output_tokens=times_ns.size,
        scheduled_ns=sent_ns,
        sent_ns=sent_ns + 60_000,
        first_byte_ns=int(times_ns[0]),
        finished_ns=int(times_ns[-1]) + 50_000,
        chunk_ns=times_ns.tolist(),
        chunk_tokens=[1] * times_ns.size,
        finish_reason="length",
        done_seen=True,
        http_status=200,
        error_code=None,
        error=None,
    )


def _ended(cell: Cell, requests: int, start_ns: int, end_ns: int) -> Cell:
    return replace(
        cell,
        state="done",
        requests=requests,
        failed=0,
        started_ns=start_ns,
        finished_ns=end_ns,
        client=ClientHealth("client_ok", (), 0.1, 0.8, 0.1, 0.0),
        cache_state="salted",
        other_cpu_cores=0.05,
        token_count_source="usage",  # noqa: S106 - not a password
    )


def _record_of(arm: MockArm) -> ArmRecord:
    bits = {"w4": 4, "w8": 8}.get(arm.weight_format[:2], 16)
    told = {"linear_bits": bits, "linear_bytes": _PARAMETERS * bits // 8, "linear_parameters": _PARAMETERS}
    checkpoint = {name: Fact(value, "mock") for name, value in told.items()}
    facts = {"engine_version": Fact("0.1.0", "mock"), "kv_cache_tokens": Fact(400_000, "mock")}
    replica = ReplicaRecord("0", ("whichbits", "mock"), {}, "http://127.0.0.1:8000", 3.5, None, facts)
    return ArmRecord(arm.name, arm.weight_format, "mock", checkpoint, (replica,), (10.0, 10.1), True, 4.0)


def _manifest(name: str, shape: Shape, cells: Sequence[Cell]) -> Manifest:
    asked = {
        "name": name,
        "every_arm": {"engine": "mock", "model": "whichbits-mock"},
        "arms": {arm.name: {"weight_format": arm.weight_format} for arm in mock_arms(shape.arms)},
        "traffic": {"kind": "chat", "input_tokens": _PROMPT_TOKENS, "output_tokens": shape.output_tokens},
        "loads": list(shape.loads),
        "repeats": shape.repeats,
        "slo": {"ttft_ms": 500, "tpot_ms": 25},
    }
    return Manifest(
        schema_version=1,
        source="measured",
        name=name,
        study=Study.model_validate(asked).model_dump(mode="json"),
        created="2026-11-30T02:00:00+00:00",
        origin_unix_ns=1_795_961_071_000_000_000,
        host={"cpu": "mock", "cores": 2},
        tools={"whichbits": "0.1.0"},
        cells=tuple(cells),
    )


if __name__ == "__main__":
    print(write_run(Path(sys.argv[2]), SHAPES[sys.argv[1]]))
