"""A study in virtual time: every arm put on the study's GPU, every cell played, an ordinary run folder written."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from whichbits.errors import BadInput
from whichbits.predict.cell import Question, drawn, fleet_of, play_cell
from whichbits.predict.constants import Constants, default_constants
from whichbits.predict.deployment.capacity import Room, room_of
from whichbits.predict.deployment.deployment import Deployment
from whichbits.predict.deployment.grounds import grounds
from whichbits.predict.playable import refuse_unplayable
from whichbits.predict.simulation.timelines import records_of
from whichbits.predict.simulation.workload import Workload
from whichbits.record.schema import ArmRecord, Cell, Fact, ReplicaRecord
from whichbits.record.writer import RunWriter
from whichbits.study.drawn_traffic import SessionsTraffic
from whichbits.study.model import Load, Study
from whichbits.study.traffic import shared_prefix_tokens
from whichbits.traffic.plan import plan_cell
from whichbits.traffic.replay import origin_of

_SOURCE = "predicted"
_ENGINE = "vllm"
DRAWS = 20
"""Draws of the constants behind an interval: enough for a spread that is itself known to about a sixth."""


@dataclass(frozen=True)
class Assumed:
    """What a prediction supposes: constants, how often they are drawn anew, and from which seed."""

    constants: Constants
    draws: int = DRAWS
    seed: int = 0

    @classmethod
    def default(cls) -> "Assumed":
        """Return this release's constants and number of draws."""
        return cls(default_constants())


def deployments(study: Study) -> Mapping[str, Deployment]:
    """Return every arm on the study's GPU.

    Raises:
        BadInput: no ``gpu``, or one that is unknown; an arm that no kernel serves there, named.
    """
    return {name: _deployment(study, name) for name in study.arms}


def refuse_impossible(study: Study, constants: Constants) -> None:
    """Raise BadInput if there is nothing to predict: traffic that cannot be played, or no GPU that can serve an arm."""
    refuse_unplayable(study)
    _placed(study, constants)


def predict_study(study: Study, cells: Iterable[Cell], writer: RunWriter, assumed: Assumed) -> list[BadInput]:
    """Predict ``cells`` one after the other and write them as a run that has ended.

    An arm that could not be served on this GPU costs its own cells only, which are skipped; the reasons are returned.

    Raises:
        BadInput: the study names no GPU, or no arm could be served.
    """
    placed, refused = _placed(study, assumed.constants)
    for name, deployment in placed.items():
        writer.arm(arm_record(name, deployment, assumed.constants))
        if deployment.arm.engine != _ENGINE:
            writer.note(
                f"{name}: its engine, {deployment.arm.engine}, is not known to the predictor; played as {_ENGINE}"
            )
        if deployment.placing:
            writer.note(
                f"{name}: {deployment.replicas_on_a_gpu} replicas share a GPU; those that have work for it are taken to"
                " get equal parts of its time (no MPS)"
            )
    draws = assumed.constants.draws(assumed.draws, assumed.seed) if assumed.draws else []
    clock_s = 0.0
    for cell in cells:
        if cell.arm in placed:
            try:
                clock_s = _predict_cell(study, cell, placed[cell.arm], writer, (assumed.constants, draws, clock_s))
            except BadInput as error:
                refused.setdefault(cell.arm, error.about(cell.arm))
                del placed[cell.arm]
        if cell.arm not in placed:
            writer.cell(replace(cell, state="skipped", notes=(refused[cell.arm].what,)), ())
    writer.finish()
    return list(refused.values())


def _placed(study: Study, constants: Constants) -> tuple[dict[str, Deployment], dict[str, BadInput]]:
    placed: dict[str, Deployment] = {}
    refused: dict[str, BadInput] = {}
    for name in study.arms:
        try:
            deployment = _deployment(study, name)
            room_of(deployment, constants)
            placed[name] = deployment
        except BadInput as error:
            if error.code == "no_gpu_named":
                raise
            refused[name] = error if name in error.what else error.about(name)
    if not placed:
        raise next(iter(refused.values()))
    return placed, refused


def _predict_cell(
    study: Study, cell: Cell, deployment: Deployment, writer: RunWriter, given: tuple[Constants, list[Constants], float]
) -> float:
    """Play a cell that begins at the given time, write it, and return when the next may begin."""
    constants, draws, began_s = given
    question = question_of(study, cell)
    played = play_cell(deployment, question, constants, keep_steps=True)
    records = records_of(played, began_s, fleet_of(deployment, constants).server.pace.token_out)
    ended_s = began_s + max(played.last_s)
    done = replace(
        cell,
        state="done",
        requests=len(records),
        failed=0,
        started_ns=round(began_s * 1e9),
        finished_ns=round(ended_s * 1e9),
        cache_state=study.cache,
        draws=drawn(deployment, question, draws),
        notes=_notes(played.preemptions),
    )
    writer.cell(done, records)
    return ended_s + 1.0


def question_of(study: Study, cell: Cell) -> Question:
    """Return what a cell asks: the same requests that a measured run would send."""
    refuse_unplayable(study)
    planned = plan_cell(study, Load.of(cell), cell.repeat)
    traffic = origin_of(study.traffic)
    work = Workload.of(planned, shared_prefix_tokens(traffic))
    if isinstance(traffic, SessionsTraffic) and traffic.shared_tokens:
        work = replace(work, prefix=[0] * len(work), prefix_tokens=traffic.shared_tokens)
    return Question(work, cell.concurrency, study.cache, study.seed + cell.repeat)


def arm_record(name: str, deployment: Deployment, constants: Constants) -> ArmRecord:
    """Describe an arm as its engine's log would, every fact marked as predicted."""
    arm = deployment.arm
    facts = _facts(deployment, room_of(deployment, constants)) | {"rests_on": grounds(deployment, constants)}
    told = {key: Fact(value, _SOURCE) for key, value in facts.items() if value is not None}
    replicas = tuple(ReplicaRecord(str(at), (), {}, "", None, None, told) for at in range(arm.replicas))
    checkpoint = {
        key: Fact(value, "the checkpoint's config")
        for key, value in deployment.checkpoint.scalars().items()
        if not isinstance(value, tuple)
    }
    return ArmRecord(name, arm.weight_format, arm.engine, checkpoint, replicas)


def _facts(deployment: Deployment, room: Room) -> dict[str, str | int | float | bool | None]:
    arm = deployment.arm
    return {
        "engine_version": ".".join(map(str, deployment.version.number)),
        "device_name": deployment.device.name,
        "quant_kernels": deployment.kernel.name,
        "kernel_note": deployment.kernel.note,
        "model_memory_gib": round(room.weights_gib, 3),
        "kv_cache_memory_gib": round(room.kv_cache_gib, 3),
        "kv_cache_tokens": room.kv_cache_tokens,
        "activation_peak_gib": round(room.activation_gib, 3),
        "cuda_graph_gib": round(room.graphs_gib, 3) if room.graphs_gib else None,
        "max_model_len": arm.max_model_len,
        "max_num_seqs": deployment.max_num_seqs,
        "max_num_batched_tokens": deployment.max_num_batched_tokens,
        "enforce_eager": deployment.eager,
        "tensor_parallel_size": deployment.gpus,
        "kv_cache_dtype": arm.kv_cache_dtype,
    }


def _deployment(study: Study, name: str) -> Deployment:
    if study.gpu is None:
        raise BadInput(
            "no_gpu_named",
            f"the study {study.name} names no GPU",
            why="a prediction needs to know what it is about",
            fix="add `gpu: L4` to the study, or give --gpu",
        )
    try:
        return Deployment.of(study.arms[name], study.gpu, study.engine_version)
    except BadInput as error:
        raise error.about(name) from None


def _notes(preemptions: int) -> tuple[str, ...]:
    return (f"{preemptions} preemptions",) if preemptions else ()
