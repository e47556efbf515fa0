"""A summary and a manifest of a small CPU study, with the numbers a real one has."""

import math
from dataclasses import replace
from itertools import combinations, pairwise

from whichbits.analyze.engine.cold_start import ColdStart
from whichbits.analyze.engine.telemetry import GpuTelemetry
from whichbits.analyze.kernels.kernel_time import Gaps, KernelTime, KindTime
from whichbits.analyze.kernels.profile import Profile
from whichbits.analyze.latency.itl_modes import ItlMode, ItlModes
from whichbits.analyze.latency.prefill_steps import PrefillSteps
from whichbits.analyze.limits.capacity import Capacity
from whichbits.analyze.limits.roofline import Accounting, Roofline, StepSplit
from whichbits.analyze.summary import (
    ArmSummary,
    CellSummary,
    Crossing,
    Crossover,
    CrossoverVerdict,
    Distribution,
    EngineLevel,
    EngineTimes,
    Estimate,
    Finding,
    LatencySplit,
    Metric,
    Recommendation,
    ReplicaSummary,
    SloCapacity,
    Summary,
)
from whichbits.record.schema import ArmRecord, Cell, ClientHealth, Fact, Manifest, ReplicaRecord
from whichbits.report.cells.measures import MEASURES

LOADS = (1, 4, 16, 32)
FORMATS = {"fp16": "fp16", "w8a8": "w8a8-int8", "w4a16": "w4a16", "w4a8": "w4a8-int8"}
WEIGHTS_GIB = {"fp16": 0.251, "w8a8": 0.129, "w4a16": 0.0788, "w4a8": 0.0791}
TPOT_MS = {
    "fp16": (23.0, 28.0, 54.0, 98.0),
    "w8a8": (19.0, 32.0, 68.0, 105.0),
    "w4a16": (15.0, 43.0, 62.0, 105.0),
    "w4a8": (15.0, 27.0, 65.0, 101.0),
}
TTFT_MS = {
    "fp16": (61.2, 188.0, 702.0, 1490.0),
    "w8a8": (48.7, 141.0, 655.0, 1380.0),
    "w4a16": (83.5, 322.0, 1180.0, 2410.0),
    "w4a8": (52.3, 139.0, 690.0, 1420.0),
}
START = ColdStart("0", None, 1.4, 1.6, 24.8, 3.0, 40.5, 52.0, 9.9)
KERNELS = KernelTime(
    basis="kernels",
    devices=1,
    device_names=("GPU",),
    engine_version=None,
    window_ms=480.0,
    busy_ms=432.0,
    overlap_ms=0.0,
    kinds=(KindTime("gemm", 336.0, 0.7, 900, ()), KindTime("attention", 96.0, 0.2, 300, ())),
    gaps=Gaps(40, 48.0, 0.1, 20.0, 3.0),
    host=None,
)
GPU = GpuTelemetry(
    gpus=1,
    samples=20,
    mean_power_w=400.0,
    max_power_w=500.0,
    power_limit_w=700.0,
    energy_j=960.0,
    mean_sm_clock_mhz=1755.0,
    sm_clock_share=0.9,
    mean_memory_clock_mhz=None,
    max_temperature_c=61.0,
    max_memory_used_bytes=None,
    mean_utilisation=0.8,
    throttled_s={},
    throttled_share=0.0,
)
UNKNOWN = Estimate(None, None, None)
EMPTY = Distribution(0, None, None, None, None)
METRICS: tuple[Metric, ...] = ("tpot_ms.p50", "tpot_ms.p99", "ttft_ms.p50", "output_tokens_per_s")


def make_summary(failed: tuple[str, int] | None = ("w4a16", 32), arms: tuple[str, ...] = tuple(FORMATS)) -> Summary:
    """Four arms at four loads; one cell failed, thin p99s, crossings and all three kinds of finding."""
    cells = tuple(
        _failed(cell) if (cell.arm, cell.concurrency) == failed else cell
        for cell in (_cell(4 * place + step, arm, step) for place, arm in enumerate(arms) for step in range(4))
    )
    return Summary(
        schema_version=1,
        source="measured",
        study="quickstart",
        run="2026-11-29T1404-quickstart",
        interrupted=False,
        load_unit="concurrency",
        arms={arm: _arm(arm) for arm in arms},
        cells=cells,
        crossovers=tuple(_crossover(metric, pair, cells) for metric in METRICS for pair in combinations(arms, 2)),
        findings=FINDINGS,
        recommendation=RECOMMENDATION,
    )


def explained(summary: Summary) -> Summary:
    """Return the summary with what engines and checkpoints tell: times, levels, rooflines, rooms, two replicas."""
    return replace(
        summary,
        arms={name: replace(arm, capacity=_room(), cold_start=START) for name, arm in summary.arms.items()},
        profiles=tuple(Profile(arm, 4, None, "0", 0.5, (), KERNELS) for arm in summary.arms),
        cells=tuple(_explained(cell) for cell in summary.cells),
        slo_capacities=tuple(SloCapacity(arm, 0.99, 17.2, 15.0, None, beyond=False) for arm in summary.arms),
    )


def repeated(summary: Summary, factors: tuple[float, ...] = (1.0, 1.1)) -> Summary:
    """Return the summary with a repeat a factor, its times that much longer."""
    cells = tuple(
        replace(
            cell,
            cell=len(factors) * cell.cell + repeat,
            repeat=repeat,
            ttft_ms=_longer(cell.ttft_ms, factor),
            tpot_ms=_longer(cell.tpot_ms, factor),
        )
        for cell in summary.cells
        for repeat, factor in enumerate(factors)
    )
    return replace(summary, cells=cells)


def _longer(times: Distribution, factor: float) -> Distribution:
    mean, p50, p90, p99 = (
        None if value is None else value * factor for value in (times.mean, times.p50, times.p90, times.p99)
    )
    return Distribution(times.n, mean, p50, p90, p99, times.thin)


def _explained(cell: CellSummary) -> CellSummary:
    if cell.tpot_ms.p50 is None:
        return cell
    load, step_ms = cell.concurrency or 1, cell.tpot_ms.p50
    times = [EngineTimes(cell.requests, mean, UNKNOWN, UNKNOWN) for mean in (2.0 * load, 18.0, 31 * step_ms)]
    level = EngineLevel(float(load), 0.9 * load, 12)
    halves = tuple(
        ReplicaSummary(str(number), cell.requests // 2, 0.5, 480, 480, 120 * (number + 1), 0.25 * (number + 1))
        for number in range(2)
    )
    account = Accounting(2.5e8, 4e8 * load, 250 / step_ms, 0.25, 0.01 * load, 1.6 * load, 4.2)
    return replace(
        cell,
        engine_queue_ms=times[0],
        engine_prefill_ms=times[1],
        engine_decode_ms=times[2],
        requests_running=level,
        requests_waiting=EngineLevel(1.0, 0.2, 12),
        kv_cache_usage=EngineLevel(0.5, 0.3, 12),
        preemptions=0,
        prefix_hit_rate=0.375,
        expected_prefix_hit_rate=(0.3, 0.4),
        hit_rate_as_expected=True,
        replicas=halves,
        itl_modes=ItlModes(3000, (ItlMode(0.9, 20.0, 0.1), ItlMode(0.1, 120.0, 0.1)), 60.0, 0.4),
        prefill_steps=PrefillSteps(3000, 0.12, 118.0, 20.0),
        gpu=GPU,
        latency_split=LatencySplit(0.1, 2.0 * load, 18.0, 31 * step_ms, 5.5, 0.1),
        roofline=Roofline(
            device="Xeon",
            number_type="fp32",
            peak_tflops=1.2,
            bandwidth_gb_s=40.0,
            ridge=30.0,
            step_ms=step_ms,
            batch=float(load),
            context_tokens=64.0,
            loaded=account,
            read=replace(account, step_bytes=2e8, effective_gb_s=200 / step_ms, intensity=2.0 * load),
            split_ms=StepSplit(4.0, 1.0, 2.0, step_ms - 5.0),
        ),
    )


def _room() -> Capacity:
    return Capacity(
        kv_cache_tokens=11264,
        kv_bytes_per_token=46080.0,
        tokens_per_request=80.0,
        requests_that_fit=140.8,
        worst_case_requests=5.5,
        max_num_seqs=32,
        offered=32.0,
        binds="max_num_seqs",
        cuda_graph_tokens=None,
        activation_tokens=None,
        prefix_working_set_tokens=22528,
        prefix_working_set_share=2.0,
    )


def renamed(summary: Summary, old: str, new: str) -> Summary:
    """Return the summary with one arm called something else, everywhere."""

    def name(arm: str) -> str:
        return new if arm == old else arm

    return replace(
        summary,
        arms={new if arm == old else arm: replace(known, arm=name(arm)) for arm, known in summary.arms.items()},
        cells=tuple(replace(cell, arm=name(cell.arm)) for cell in summary.cells),
        crossovers=tuple(
            replace(
                crossover,
                arms=(name(crossover.arms[0]), name(crossover.arms[1])),
                leader_low_load=name(crossover.leader_low_load or "") or None,
                leader_high_load=name(crossover.leader_high_load or "") or None,
            )
            for crossover in summary.crossovers
        ),
        recommendation=tuple(
            replace(entry, ranges=tuple((name(arm), low, high) for arm, low, high in entry.ranges))
            for entry in summary.recommendation
        ),
        slo_capacities=tuple(replace(entry, arm=name(entry.arm)) for entry in summary.slo_capacities),
        profiles=tuple(replace(entry, arm=name(entry.arm)) for entry in summary.profiles),
    )


def make_manifest(arms: tuple[str, ...] = tuple(FORMATS)) -> Manifest:
    """The run.json that goes with ``make_summary``."""
    health = ClientHealth("client_ok", (), 0.41, 0.62, 0.07, 0.0)
    strained = ClientHealth("client_suspect", ("send lag p99 is 6.3 ms, over 5 ms",), 6.3, 2.9, 0.31, 0.004)
    cells = tuple(
        Cell(
            cell=4 * place + step,
            arm=arm,
            concurrency=load,
            request_rate=None,
            repeat=0,
            state="done",
            requests=max(10, 2 * load),
            failed=0,
            client=strained if (place, load) == (1, 32) else health,
            cache_state="salted",
        )
        for place, arm in enumerate(arms)
        for step, load in enumerate(LOADS)
    )
    return Manifest(
        schema_version=1,
        source="measured",
        name="quickstart",
        study={
            "name": "quickstart",
            "arms": {arm: {"weight_format": FORMATS.get(arm, "fp16"), "engine": "embedded"} for arm in arms},
            "traffic": {"kind": "chat", "input_tokens": 48, "output_tokens": 32},
            "loads": [{"concurrency": load} for load in LOADS],
            "seed": 0,
        },
        created="2026-11-29T14:04:11Z",
        origin_unix_ns=1_795_961_051_000_000_000,
        host={"cpu": "Intel Xeon Platinum 8488C", "cores": 2, "memory_gib": 7.6, "os": "Linux 6.1"},
        tools={"whichbits": "0.1.0", "python": "3.11.9", "openvino-genai": "2026.4.1.0"},
        arms={arm: _record(arm) for arm in arms},
        cells=cells,
    )


def _cell(number: int, arm: str, step: int) -> CellSummary:
    load, tpot, ttft = LOADS[step], TPOT_MS[arm][step], TTFT_MS[arm][step]
    requests = max(10, 2 * load)
    tokens_per_s = 1000 * load / (tpot * 1.06 + ttft / 32)
    spread = 0.06 if requests < 20 else 0.03
    return CellSummary(
        cell=number,
        arm=arm,
        concurrency=load,
        request_rate=None,
        repeat=0,
        state="done",
        requests=requests,
        failed=0,
        errors={},
        client_verdict="client_suspect" if (arm, load) == ("w8a8", 32) else "client_ok",
        ttft_ms=_times(requests, ttft, 1.7),
        ttft_from_send_ms=_times(requests, ttft - 0.2, 1.7),
        tpot_ms=_times(requests, tpot, 1.22),
        itl_ms=_times(requests * 31, tpot * 0.97, 2.1, thin=False),
        e2e_ms=_times(requests, ttft + 31 * tpot, 1.3),
        excluded_from_tpot=0,
        prompt_tokens=requests * 48,
        cached_tokens=0,
        output_tokens=requests * 32,
        duration_s=requests * 32 / tokens_per_s,
        output_tokens_per_s=tokens_per_s,
        total_tokens_per_s=tokens_per_s * 2.5,
        requests_per_s=tokens_per_s / 32,
        steady_output_tokens_per_s=tokens_per_s * 1.03,
        mean_batch=tokens_per_s * tpot / 1000,
        peak_concurrency=load,
        prefix_hit_rate=0.0,
        slo_share=1.0,
        intervals={
            "tpot_ms.p50": (tpot * (1 - spread), tpot * (1 + spread)),
            "ttft_ms.p50": (ttft * (1 - 2 * spread), ttft * (1 + 2 * spread)),
        },
    )


def _times(n: int, p50: float, tail: float, *, thin: bool = True) -> Distribution:
    return Distribution(n, p50 * 1.04, p50, p50 * (1 + tail) / 2, p50 * tail, ("p99",) if thin else ())


def _failed(cell: CellSummary) -> CellSummary:
    return replace(
        cell,
        state="done",
        failed=cell.requests,
        errors={"server_died": cell.requests},
        client_verdict=None,
        ttft_ms=EMPTY,
        ttft_from_send_ms=EMPTY,
        tpot_ms=EMPTY,
        itl_ms=EMPTY,
        e2e_ms=EMPTY,
        output_tokens=0,
        output_tokens_per_s=None,
        total_tokens_per_s=None,
        requests_per_s=None,
        steady_output_tokens_per_s=None,
        mean_batch=None,
        prefix_hit_rate=None,
        intervals={},
    )


def _crossover(metric: Metric, pair: tuple[str, str], cells: tuple[CellSummary, ...]) -> Crossover:
    values_of = {(cell.arm, cell.concurrency): MEASURES[metric].read(cell) for cell in cells}
    pairs = {float(load): (values_of.get((pair[0], load)), values_of.get((pair[1], load))) for load in LOADS}
    ratios = {load: first / second for load, (first, second) in pairs.items() if first and second}
    crossings = tuple(
        Crossing(load, load * 0.86, load * 1.19)
        for (left, start), (right, end) in pairwise(ratios.items())
        if (start - 1) * (end - 1) < 0
        for load in [left * (right / left) ** (math.log(start) / (math.log(start) - math.log(end)))]
    )
    lower_wins = MEASURES[metric].better == "lower"
    values = list(ratios.values())
    flat = all(abs(value - 1) < 0.03 for value in values)
    verdict: CrossoverVerdict = "tie" if flat else "crosses" if crossings else "none"
    low, high = (pair[0] if (value < 1) == lower_wins else pair[1] for value in (values[0], values[-1]))
    return Crossover(
        metric=metric,
        arms=pair,
        verdict=verdict,
        crossings=crossings,
        leader_low_load=None if values[0] == 1 else low,
        leader_high_load=None if values[-1] == 1 else high,
        load_unit="concurrency",
        loads=tuple(ratios),
        ratios=tuple(values),
    )


def _arm(arm: str) -> ArmSummary:
    return ArmSummary(
        arm=arm,
        weight_format=FORMATS[arm],
        engine="embedded",
        engine_version="2026.4.1.0",
        model="smollm2-135m-instruct",
        kernel=None,
        weights_gib=WEIGHTS_GIB[arm],
        kv_cache_tokens=11_264,
        load_seconds=1.84,
        init_seconds=None,
        facts={"inference_precision": "f32", "dynamic_quantization_group": 0 if arm == "w4a16" else 32},
    )


def _record(arm: str) -> ArmRecord:
    facts = {
        "kv_cache_tokens": Fact(11264, "log", "[embedded] kv cache: 11264 tokens in 352 blocks of 32"),
        "inference_precision": Fact("f32", "log", "[embedded] INFERENCE_PRECISION_HINT=f32"),
    }
    return ArmRecord(
        arm=arm,
        weight_format=FORMATS.get(arm, "fp16"),
        engine="embedded",
        checkpoint={"linear_weights_gib": Fact(WEIGHTS_GIB.get(arm, 0.25), "openvino_model.bin")},
        replicas=(
            ReplicaRecord(
                replica="0",
                command=("whichbits-embedded", "--model", "/models/smollm2", "--port", "8071"),
                environment={"OMP_NUM_THREADS": "2"},
                url="http://127.0.0.1:8071",
                ready_seconds=2.31,
                log=f"logs/{arm}-0.log",
                facts=facts,
            ),
        ),
    )


FINDINGS = (
    Finding(
        "observed",
        "crossover.tpot_p50.w4a8-fp16",
        "w4a8 has the lower median TPOT up to 5 concurrent requests, fp16 from there on.",
        ("w4a8 / fp16 at c1: 0.65", "w4a8 / fp16 at c16: 1.20"),
    ),
    Finding(
        "observed",
        "failures.w4a16.c32",
        "All 64 requests of w4a16 at c32 failed: the server died.",
        ("requests.parquet, cell 11: server_died x 64",),
    ),
    Finding(
        "interpretation",
        "bottleneck.bandwidth",
        "At c1 a step mostly reads weights: halving their bytes takes 17 to 35 % off the step.",
        ("weights read a step: 0.251 GiB (fp16), 0.079 GiB (w4a8)",),
    ),
    Finding("unresolved", "kernel.unknown", "The engine does not say which kernel ran the 4-bit layers."),
)

RECOMMENDATION = (
    Recommendation(
        "tpot_ms.p50",
        (("w4a8", None, 5.021), ("fp16", 5.021, None)),
        "w4a8 up to 5 concurrent requests (tied with w4a16 at 1), then fp16.",
    ),
    Recommendation(
        "tpot_ms.p99",
        (("w4a8", None, 5.021), ("fp16", 5.021, None)),
        "w4a8 up to 5 concurrent requests, then fp16; the p99s are thin.",
    ),
    Recommendation(
        "ttft_ms.p50",
        (("w8a8", None, 3.17), ("w4a8", 3.17, 5.39), ("w8a8", 5.39, None)),
        "w8a8 nearly everywhere; w4a8 is within 2 % around 4.",
    ),
    Recommendation("output_tokens_per_s", (("w4a8", None, 6.61), ("fp16", 6.61, None)), "w4a8 to 6.6, then fp16."),
)
