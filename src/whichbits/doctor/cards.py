"""Which kernel would run each arm on the card that it would get, and what its memory would leave for the KV cache."""

from collections.abc import Iterator
from dataclasses import dataclass

from whichbits.checkpoint.facts import Checkpoint
from whichbits.doctor.checkpoints import local_model
from whichbits.doctor.diagnosis import Diagnosis, Patient, good, unknown
from whichbits.doctor.gpus import needs_gpu
from whichbits.doctor.places import servers_by_gpu, share_of_card
from whichbits.errors import BadInput
from whichbits.hardware.gpu_states import GpuState
from whichbits.predict.constants import default_constants
from whichbits.predict.deployment.capacity import room_of
from whichbits.predict.deployment.deployment import Deployment
from whichbits.predict.deployment.engine_version import EngineVersion
from whichbits.predict.deployment.kernels import Kernel, kernel_of
from whichbits.predict.deployment.models import checkpoint_of
from whichbits.study.arm import Arm

_GIB = 2**30
_MIB_A_GIB = 1024
_UNQUANTISED = "16-bit products"
"""What an arm computes that needs no kernel of its own."""


@dataclass(frozen=True)
class Seat:
    """An arm as it would be served: cards of each replica, the share of a card that a server takes, vLLM's version.

    ``cards`` are those that are here; none where the machine has none and the study names one for predictions.
    """

    subject: str
    arm: Arm
    gpus: tuple[int, ...]
    cards: tuple[GpuState, ...]
    share: float
    version: str | None


def check_cards(patient: Patient) -> Iterator[Diagnosis]:
    """Look at every arm that would be started on a card: its kernel, its memory, and who else is on that card."""
    if patient.study is None:
        return
    seats = [_seat(name, arm, patient) for name, arm in patient.study.arms.items() if needs_gpu(arm, patient)]
    for seat in seats:
        if patient.gpus and len(seat.cards) < len(seat.gpus):
            yield _too_few(seat, len(patient.gpus))
            continue
        yield from _on_card(seat, patient.study.gpu)
        yield from _free_memory(seat)


def _seat(name: str, arm: Arm, patient: Patient) -> Seat:
    version, gpus = patient.version_for(arm), tuple(servers_by_gpu(arm))
    here = {state.index: state for state in patient.gpus}
    cards = tuple(here[gpu] for gpu in gpus if gpu in here)
    return Seat(f"arm {name}", arm, gpus, cards, share_of_card(arm, version), version)


def _too_few(seat: Seat, cards: int) -> Diagnosis:
    return Diagnosis(
        "gpus_too_few",
        "problem",
        seat.subject,
        f"it asks for GPU {', '.join(str(gpu) for gpu in seat.gpus)}, and this machine has {cards}",
        why="replicas get a card each (or tensor_parallel_size cards) unless `gpus` names fewer",
        fix="name cards that are here with the arm's `gpus`; fewer than are needed are shared",
    )


def _on_card(seat: Seat, named: str | None) -> Iterator[Diagnosis]:
    card = seat.cards[0].name if seat.cards else named
    if card is None:
        return
    arm = seat.arm.model_copy(update={"model": local_model(seat.arm), "gpu_memory_utilization": seat.share})
    try:
        yield _fitting(seat, card, Deployment.of(arm, card, seat.version))
    except BadInput as refused:
        if refused.code == "device_unknown" and seat.cards:
            yield _by_capability(seat, arm, seat.cards[0])
        elif refused.code in ("kernel_impossible", "does_not_fit"):
            yield Diagnosis(refused.code, "problem", seat.subject, refused.what, why=refused.why, fix=refused.fix)
        else:
            yield unknown(refused.code, seat.subject, refused.what)


def _fitting(seat: Seat, card: str, deployment: Deployment) -> Diagnosis:
    room = room_of(deployment, default_constants())
    return good(
        "arm_fits",
        seat.subject,
        f"on {card}: {_kernel(deployment.kernel)}; {room.weights_gib:.1f} GiB of weights leave about "
        f"{room.kv_cache_tokens:,} tokens of KV cache{_of_a_share(seat)}",
    )


def _by_capability(seat: Seat, arm: Arm, state: GpuState) -> Diagnosis:
    """Say what follows from the capability alone, of a card that no table has."""
    try:
        checkpoint = checkpoint_of(arm)
        capability = _capability(state)
        kernel = None if capability is None else kernel_of(checkpoint, arm, capability, EngineVersion.of(seat.version))
    except BadInput as refused:
        if refused.code == "kernel_impossible":
            return Diagnosis(refused.code, "problem", seat.subject, refused.what, why=refused.why, fix=refused.fix)
        return unknown(refused.code, seat.subject, refused.what)
    told = "its kernel is not known" if kernel is None else _kernel(kernel)
    left = _left_gib(seat, checkpoint, state)
    room = "" if left is None else f", which leave less than {left:.1f} GiB for the KV cache"
    return good(
        "arm_fits",
        seat.subject,
        f"on {state.name}: {told}; {_weights_gib(seat, checkpoint):.1f} GiB of weights{room} (no table has this card)",
    )


def _capability(state: GpuState) -> tuple[int, int] | None:
    major, _, minor = (state.capability or "").partition(".")
    return (int(major), int(minor)) if major.isdigit() and minor.isdigit() else None


def _weights_gib(seat: Seat, checkpoint: Checkpoint) -> float:
    return checkpoint.total_bytes / (seat.arm.tensor_parallel_size or 1) / _GIB


def _left_gib(seat: Seat, checkpoint: Checkpoint, state: GpuState) -> float | None:
    visible = _visible_mib(state)
    return None if visible is None else seat.share * visible / _MIB_A_GIB - _weights_gib(seat, checkpoint)


def _kernel(kernel: Kernel) -> str:
    name = kernel.name or _UNQUANTISED
    return f"{name} ({kernel.note})" if kernel.note else name


def _of_a_share(seat: Seat) -> str:
    return f" in {seat.share:.0%} of the card" if max(servers_by_gpu(seat.arm).values()) > 1 else ""


def _free_memory(seat: Seat) -> Iterator[Diagnosis]:
    """Hold what a server asks for at its start against what is free: vLLM ends if it is less."""
    crowd = servers_by_gpu(seat.arm)
    for state in seat.cards:
        servers, visible = crowd[state.index], _visible_mib(state)
        if visible is None or state.memory_free is None or state.memory_free >= servers * seat.share * visible:
            continue
        yield Diagnosis(
            "gpu_memory_taken",
            "problem",
            seat.subject,
            f"it would take {servers * seat.share:.0%} of GPU {state.index}, "
            f"{servers * seat.share * visible / _MIB_A_GIB:.1f} GiB, and {state.memory_free / _MIB_A_GIB:.1f} are free",
            why="vLLM asks for its share of the whole card at once, and ends if it is not free",
            fix="end what holds the memory, choose another card with `gpus`, or lower gpu_memory_utilization for all "
            "arms alike",
        )


def _visible_mib(state: GpuState) -> float | None:
    """Return what CUDA calls the card's total: nvidia-smi's own has what the driver keeps to itself, too."""
    if state.memory_free is None or state.memory_used is None:
        return state.memory_total
    return state.memory_free + state.memory_used
