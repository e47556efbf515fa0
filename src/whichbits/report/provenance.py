"""Where a report's numbers come from, as rows: arms' facts, the client's health, commands."""

import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import yaml

from whichbits.analyze.summary import ArmSummary, CellSummary, Summary
from whichbits.drive.reasons import known_again
from whichbits.language.phrase import joined, phrase
from whichbits.language.recognition import recognise
from whichbits.record.schema import ArmRecord, Cell, ClientHealth, Fact, Manifest
from whichbits.report.wording import MISSING, VERDICTS, load_text, number


@dataclass(frozen=True)
class FactRow:
    """A fact of an arm and the line it was read from."""

    name: str
    value: str
    source: str
    line: str | None
    line_of: str | None = None
    """The fact above that was read from the same line: an engine's line of settings gives a dozen."""


@dataclass(frozen=True)
class ClientRow:
    """How a cell's books stand and whether the client could have been its limit."""

    arm: str
    load: str
    repeat: int
    failed: int
    errors: str
    verdict: str
    send_lag: str
    loop_lag: str
    read_lag: str
    merged_gaps: str
    workers: str
    cpu: str
    fine_gaps: str
    cache: str
    remarks: tuple[str, ...]


@dataclass(frozen=True)
class Command:
    """How a replica was started, ready for a shell."""

    arm: str
    replica: str
    line: str
    ready: str


def fact_rows(arm: ArmSummary, record: ArmRecord | None) -> tuple[FactRow, ...]:
    """Return what is known of an arm: the summary's own, then each fact read, with its line."""
    own = {
        phrase("weight format"): arm.weight_format,
        phrase("model"): arm.model,
        phrase("engine"): " ".join(filter(None, (arm.engine, arm.engine_version))),
        phrase("kernel"): arm.kernel,
        phrase("weights (GiB)"): arm.weights_gib,
        phrase("KV cache (tokens)"): arm.kv_cache_tokens,
        phrase("load (s)"): arm.load_seconds,
        phrase("engine start (s)"): arm.init_seconds,
        **{name.replace("_", " "): value for name, value in arm.facts.items()},
    }
    rows = [FactRow(name, _written(value), phrase("summary"), None) for name, value in own.items()]
    if record is not None:
        rows += [_fact_row(name, fact, "") for name, fact in record.checkpoint.items()]
        for replica in record.replicas:
            place = phrase(" of replica {replica}", replica=replica.replica) if len(record.replicas) > 1 else ""
            rows += [_fact_row(name, fact, place) for name, fact in replica.facts.items()]
    return tuple(_with_first_lines(rows))


def _with_first_lines(rows: Iterable[FactRow]) -> Iterator[FactRow]:
    first: dict[str, str] = {}
    for row in rows:
        earlier = None if row.line is None else first.setdefault(row.line, row.name)
        yield replace(row, line_of=None if row.line is None or earlier == row.name else earlier)


def client_rows(summary: Summary, manifest: Manifest) -> tuple[ClientRow, ...]:
    """Return a row for each cell, its client's health where the run has it."""
    recorded = {cell.cell: cell for cell in manifest.cells}
    return tuple(_client_row(cell, recorded.get(cell.cell)) for cell in summary.cells)


def commands(manifest: Manifest) -> tuple[Command, ...]:
    """Return the launch line of every replica, its environment first; attached servers have none."""
    return tuple(
        Command(
            arm=record.arm,
            replica=replica.replica,
            line=" ".join([*_assignments(replica.environment), shlex.join(replica.command)]).strip()
            or phrase("attached to {url}", url=replica.url),
            ready=MISSING if replica.ready_seconds is None else f"{number(replica.ready_seconds)} s",
        )
        for record in manifest.arms.values()
        for replica in record.replicas
    )


def study_yaml(manifest: Manifest) -> str:
    """Return the study as it was resolved, as a study file: arms are complete, and what is not set is not written."""
    written = set_only({name: value for name, value in manifest.study.items() if name != "every_arm"})
    return yaml.safe_dump(written, sort_keys=False, allow_unicode=True, width=100)


def set_only(value: Any) -> Any:
    """Leave out what says nothing, at every depth: null is every optional key's default, and so is an empty mapping."""
    if isinstance(value, list):
        return [set_only(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {name: set_only(each) for name, each in value.items() if each is not None and each != {}}


def flat(values: dict[str, Any]) -> dict[str, str]:
    """Return a mapping's values as they are written, ``None`` as missing."""
    return {str(name): _written(value) for name, value in values.items()}


def _fact_row(name: str, fact: Fact, place: str) -> FactRow:
    return FactRow(name.replace("_", " "), _written(fact.value), fact.source + place, fact.line)


def _client_row(cell: CellSummary, recorded: Cell | None) -> ClientRow:
    health = recorded.client if recorded else None
    return ClientRow(
        arm=cell.arm,
        load=load_text(cell),
        repeat=cell.repeat + 1,
        failed=cell.failed,
        errors=joined(", ", (phrase("{code} x {times}", code=code, times=times) for code, times in cell.errors.items()))
        or MISSING,
        verdict=VERDICTS.get(cell.client_verdict, cell.client_verdict or MISSING),
        send_lag=number(health.send_lag_p99_ms if health else None),
        loop_lag=number(health.loop_lag_p99_ms if health else None),
        read_lag=number(health.read_lag_p99_ms if health else None),
        merged_gaps=_percent(health.merged_gap_share if health else None),
        workers=MISSING if health is None or health.workers is None else str(health.workers),
        cpu=_percent(health.cpu_share if health else None),
        fine_gaps=_percent(health.sub_millisecond_gap_share if health else None),
        cache=(recorded.cache_state if recorded else None) or MISSING,
        remarks=(
            *(map(known_again, health.reasons) if health else ()),
            *(_clocks(health) if health else ()),
            *(map(recognise, recorded.notes) if recorded else ()),
        ),
    )


def _clocks(health: ClientHealth) -> Iterator[str]:
    """Say how far times may be off where a cell was sent from several machines."""
    if health.clock_error_ms is None:
        return
    drift = (
        ""
        if health.clock_drift_ms is None
        else phrase(", and moved by {ms} ms during the cell", ms=number(health.clock_drift_ms))
    )
    yield phrase(
        "sent from several machines: the worst of their clocks may be off by {ms} ms{drift}",
        ms=number(health.clock_error_ms),
        drift=drift,
    )


def _assignments(environment: dict[str, str]) -> list[str]:
    return [f"{name}={shlex.quote(value)}" for name, value in environment.items()]


def _percent(share: float | None) -> str:
    return MISSING if share is None else f"{100 * share:.1f}"


def _written(value: object) -> str:
    match value:
        case None:
            text = MISSING
        case bool():
            text = phrase("yes") if value else phrase("no")
        case float():
            text = f"{value:.4g}"
        case dict():
            text = joined(
                ", ", (phrase("{name} {written}", name=name, written=_written(part)) for name, part in value.items())
            )
        case list() | tuple():
            text = joined(", ", (_written(part) for part in value))
        case _:
            text = str(value)
    return text or MISSING
