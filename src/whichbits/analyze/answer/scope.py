"""How far an answer carries: what it holds for, what would flip it, and what nobody measured."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from whichbits.analyze.curves.load_curves import METRICS, crossing_words
from whichbits.analyze.findings.observed import load_of
from whichbits.analyze.summary import ArmSummary, CellSummary, Crossover, Finding
from whichbits.analyze.summary.verdicts import Regime
from whichbits.language.amounts import amount
from whichbits.language.phrase import joined, listed, phrase
from whichbits.record.schema import Manifest

FLIPS = {
    "prefill_bound": phrase(
        "traffic with longer answers or shorter prompts, where decoding and with it bits of weights count"
    ),
    "eager": phrase("CUDA graphs and compilation (no enforce_eager), which help the arm with the shortest step most"),
    "prefix_working_set": phrase("fewer shared prefixes a replica, or routing by prefix, which changes the hit rate"),
    "kv_starved": phrase("more KV cache for all arms, which takes the advantage of room from the smaller weights"),
    "batch_cap": phrase("a larger max_num_seqs, from which the arm with more room may gain"),
    "outside_engine": phrase("a client and a front end that do not hold first tokens back"),
    "saturated": phrase("a load that every arm holds without a queue"),
    "legacy_kernel": phrase("a fused low-bit kernel for the same bits"),
    "weight_only_fallback": phrase("a device with units for 8-bit products"),
    "activation_types_differ": phrase("one activation type for all arms"),
    "settings_differ": phrase("equal settings for all arms"),
    "drain_dominated": phrase("longer cells, if throughput was close"),
    "tensor_parallel": phrase("fewer GPUs a replica"),
}
"""By the finding that shows it."""

_MOST_LOADS = 8
"""Loads that are named one by one."""


def holds_for(
    manifest: Manifest, arms: Mapping[str, ArmSummary], cells: Sequence[CellSummary]
) -> dict[str, str | None]:
    """Return hardware, model, traffic, engine and loads in words; None for what the run does not tell."""
    devices = _distinct(_device(arm, manifest) for arm in arms.values())
    engines = _distinct(joined(" ", filter(None, (arm.engine, arm.engine_version))) for arm in arms.values())
    return {
        "hardware": devices,
        "model": _distinct(arm.model for arm in arms.values()),
        "engine": engines,
        "traffic": _traffic(manifest.study, cells),
        "loads": _loads([cell for cell in cells if cell.state == "done"]) or None,
    }


def would_flip(
    regimes: Sequence[Regime],
    crossovers: Sequence[Crossover],
    findings: Sequence[Finding],
    arms: Mapping[str, ArmSummary],
) -> tuple[str, ...]:
    """Return what would change the answer: loads at which arms trade places, and causes that findings name."""
    chosen = {regime.arm for regime in regimes}
    turns = [_turn(each) for each in crossovers if each.verdict == "crosses" and chosen & set(each.arms)]
    codes = dict.fromkeys(finding.code for finding in findings)
    return (*dict.fromkeys(filter(None, turns)), *_kv_bound(arms), *(FLIPS[code] for code in codes if code in FLIPS))


def not_known(findings: Sequence[Finding]) -> tuple[str, ...]:
    """Return what is unresolved with what would settle it; what fewer bits cost in answers comes first."""
    unresolved = [finding for finding in findings if finding.kind != "observed" and finding.settled_by]
    by_measurement: dict[str, dict[str, None]] = {}
    for finding in unresolved:
        by_measurement.setdefault(finding.settled_by or "", {})[finding.code] = None
    settled = (
        phrase("{list}: {measurement}", list=joined(", ", codes), measurement=measurement)
        for measurement, codes in by_measurement.items()
    )
    return (phrase("what fewer bits cost in answers: measure quality beside speed"), *settled)


def _turn(crossover: Crossover) -> str | None:
    if crossover.metric not in ("tpot_ms.p50", "output_tokens_per_s"):
        return None
    where = joined(
        ", ",
        (crossing_words(crossover, crossing) for crossing in crossover.crossings),
    )
    return phrase(
        "the load: {arms} trade places in {name} at {where}",
        arms=listed(crossover.arms),
        name=METRICS[crossover.metric].name,
        where=where,
    )


def _kv_bound(arms: Mapping[str, ArmSummary]) -> list[str]:
    """Return the mean length at which the smallest KV cache would begin to bind, if it does not yet."""
    rooms = [arm.capacity for arm in arms.values() if arm.capacity is not None]
    asked = [room.offered for room in rooms if room.offered]
    if len(rooms) < 2 or not asked or any(room.binds == "kv_cache" for room in rooms):
        return []
    length = min(room.kv_cache_tokens for room in rooms) / max(asked)
    return [
        phrase(
            "requests of more than {length:,.0f} tokens on average: then the smallest KV cache is full at the top load",
            length=length,
        )
    ]


def _traffic(study: Mapping[str, Any], cells: Sequence[CellSummary]) -> str | None:
    kind = _kind(study, cells)
    served = [cell for cell in cells if cell.prompt_tokens and cell.served]
    requests = sum(cell.served for cell in served)
    if not requests:
        return kind
    prompt = sum(cell.prompt_tokens or 0 for cell in served) / requests
    output = sum(cell.output_tokens for cell in served) / requests
    lengths = phrase(
        "{prompt} and {output} a request on average",
        prompt=amount(round(prompt), "prompt token"),
        output=amount(round(output), "output token"),
    )
    return phrase("{kind}, {lengths}", kind=kind, lengths=lengths) if kind else lengths


def _loads(cells: Sequence[CellSummary]) -> str:
    """Return the loads in rising order, each by its name while they are few: a search adds them as it goes."""
    rising = sorted(cells, key=lambda cell: (cell.request_rate or 0.0, cell.concurrency or 0))
    names = list(dict.fromkeys(map(load_of, rising)))
    if len(names) <= _MOST_LOADS:
        return joined(", ", names)
    return phrase("{low} to {high} ({loads})", low=names[0], high=names[-1], loads=amount(len(names), "load"))


def _kind(study: Mapping[str, Any], cells: Sequence[CellSummary]) -> str | None:
    """Return the kind of traffic, and that of its arrivals where it is not the usual one."""
    kind, arrivals = ((study.get(key) or {}).get("kind") for key in ("traffic", "arrivals"))
    if arrivals in (None, "poisson") or all(cell.request_rate is None for cell in cells):
        return kind
    return phrase("{kind} with {arrivals} arrivals", kind=kind, arrivals=arrivals) if kind else None


def _device(arm: ArmSummary, manifest: Manifest) -> str | None:
    named = arm.facts.get("device_name") or manifest.host.get("device_name")
    gpus = arm.facts.get("tensor_parallel_size")
    if not named:
        return None
    return phrase("{gpus} x {named}", gpus=gpus, named=named) if isinstance(gpus, int) and gpus > 1 else str(named)


def _distinct(names: Iterable[str | None]) -> str | None:
    return joined(", ", dict.fromkeys(name for name in names if name)) or None
