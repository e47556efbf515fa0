"""FP16 against FP8 on one H200 as a summary: real timelines where they are kept, the client's numbers elsewhere."""

import gzip
import json
from collections.abc import Mapping
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import Any

import pyarrow as pa

from tests.analyze.field_reports import bare
from tests.checkpoint.configs import FP8_DYNAMIC, QWEN25_7B
from tests.record.make_run import manifest, record
from whichbits.analyze.arms import arm_summary
from whichbits.analyze.cells.cell import cell_summary
from whichbits.analyze.cells.noise import Replicates, intervals, replicates
from whichbits.analyze.conclude import Inputs, conclude
from whichbits.analyze.engine.counted import CellCounts, counted
from whichbits.analyze.engine.view import engine_view
from whichbits.analyze.latency.split import latency_split
from whichbits.analyze.latency.times import is_thin
from whichbits.analyze.summary import CellSummary, Distribution, Summary
from whichbits.checkpoint.read import from_config
from whichbits.record.columns import table_of
from whichbits.record.schema import ArmRecord, Cell, ClientHealth, Fact, Manifest, ReplicaRecord, RequestRecord
from whichbits.record.scrapes import Scrape
from whichbits.serve.vllm.facts import log_facts

DATA = Path(__file__).parents[1] / "data" / "h200"
ARMS = {"fp16": ("fp16", QWEN25_7B), "fp8": ("w8a8-fp8", QWEN25_7B | {"quantization_config": FP8_DYNAMIC})}
TICK_NS = 100_000


def h200_summary() -> Summary:
    """All that follows from the excerpt."""
    kept = {arm: json.loads(gzip.decompress((DATA / f"q25-{arm}.json.gz").read_bytes())) for arm in ARMS}
    run = _manifest(kept)
    cells: list[CellSummary] = []
    resampled: dict[int, Replicates] = {}
    for arm, of_arm in kept.items():
        for at, told in enumerate(of_arm["summaries"]):
            place = _cell(len(cells), arm, told)
            counts = _counts(place.cell, of_arm["before"][at], of_arm["after"][at])
            rows = of_arm["timelines"].get(str(told["conc"]))
            if rows is None:
                cells.append(_told(place, told, counts))
            else:
                requests = table_of(place, [_request(index, row) for index, row in enumerate(rows)])
                resampled[place.cell] = replicates(place, requests)
                cells.append(_timed(place, requests, counts, resampled[place.cell]))
    arms = {name: arm_summary(run, made) for name, made in run.arms.items()}
    return conclude(Inputs(run, "h200", arms, cells, resampled))


def _manifest(kept: Mapping[str, Any]) -> Manifest:
    records = {}
    for arm, (weights, shape) in ARMS.items():
        facts = {name: Fact(value, "config.json") for name, value in from_config(shape).scalars().items()}
        server = ReplicaRecord("0", (), {}, "", None, None, log_facts(kept[arm]["log"]))
        records[arm] = ArmRecord(arm, weights, "vllm", facts, (server,))
    # The log of 0.25 does not name the device.
    host = {"device_name": "NVIDIA H200"}
    return replace(manifest("h200"), host=host, arms=records, study={"traffic": {"kind": "chat"}})


def _cell(number: int, arm: str, told: Mapping[str, Any]) -> Cell:
    verdict = ClientHealth("client_ok" if told["chunks_ok"] else "client_suspect", (), None, None, None, None)
    return Cell(number, arm, told["conc"], None, 0, "done", requests=told["n"], failed=0, client=verdict)


def _counts(cell: int, before: str, after: str) -> CellCounts:
    scrapes = [Scrape("", "0", cell, "before", 0, before), Scrape("", "0", cell, "after", 1, after)]
    return counted(scrapes)[cell]


def _request(index: int, row: list[int]) -> RequestRecord:
    prompt, output, _, start, first, *gaps = row
    chunks = tuple(tick * TICK_NS for tick in accumulate([first, *gaps]))
    return replace(
        record(index),
        requested_output_tokens=output,
        prompt_tokens=prompt,
        cached_tokens=None,
        output_tokens=output,
        # A closed loop schedules a request when its stream is free.
        scheduled_ns=start * TICK_NS,
        sent_ns=start * TICK_NS,
        first_byte_ns=chunks[0],
        finished_ns=chunks[-1],
        chunk_ns=chunks,
        # One stamp a read: several tokens in one read are one chunk of several, not tokens that are lacking.
        chunk_tokens=(1,) * (len(chunks) - 1) + (output - len(chunks) + 1,),
    )


def _timed(place: Cell, requests: pa.Table, counts: CellCounts, resampled: Replicates) -> CellSummary:
    found = cell_summary(place, requests, counts)
    return replace(found, intervals=intervals(found, resampled))


def _told(place: Cell, told: Mapping[str, Any], counts: CellCounts) -> CellSummary:
    """A cell of which only the client's own summary is kept; its percentiles follow the same definitions."""
    seen = engine_view(counts)
    thin = tuple(f"p{percent}" for percent in (90, 99) if is_thin(told["n"], percent))
    ttft = Distribution(told["n"], None, told["ttft50"], None, told["ttft99"], thin)
    return replace(
        bare(place.arm, told["conc"]),
        cell=place.cell,
        client_verdict=None if place.client is None else place.client.verdict,
        requests=told["n"],
        prompt_tokens=told["in_tok"],
        output_tokens=told["out_tok"],
        duration_s=told["dur"],
        output_tokens_per_s=told["out_tps"],
        requests_per_s=told["n"] / told["dur"],
        ttft_ms=ttft,
        tpot_ms=Distribution(told["n"], None, told["tpot50"], None, told["tpot99"], thin),
        itl_ms=Distribution(told["out_tok"] - told["n"], told["itl_mean"], told["itl50"], None, told["itl99"]),
        mean_batch=told["out_tps"] * told["tpot50"] / 1e3,
        mean_context_tokens=(told["in_tok"] + told["out_tok"] / 2) / told["n"],
        prefix_hit_rate=seen["prefix_hits"] / seen["prefix_queries"],
        latency_split=latency_split(seen, ttft, ttft),
        **seen,
    )
