"""Whether the cards are free, whole, at full power, and driven by a new enough driver."""

from collections.abc import Iterator, Sequence

from packaging.version import InvalidVersion, Version

from whichbits.doctor.diagnosis import Diagnosis, Patient, good
from whichbits.doctor.interpreter import Interpreter
from whichbits.doctor.releases import oldest_driver
from whichbits.hardware.gpu_states import GpuState, GpuUser
from whichbits.hardware.nvidia_smi import PATIENCE_S
from whichbits.study.arm import Arm

_FREE_MIB = 1024
_BELOW = 0.99
_BUSY_PERCENT = 5
_UNKNOWN = "\N{EN DASH}"


def check_gpus(patient: Patient) -> Iterator[Diagnosis]:
    """Look at every card of this machine."""
    cards = patient.cards
    if cards.silent:
        yield _silent(patient)
    elif not cards.states:
        yield _no_gpu(patient)
    for state in cards.states:
        found = look_at(state, [user for user in cards.users if user.uuid == state.uuid])
        yield from (each for each in found if each.state != "good" or not cards.silent)
    for interpreter in patient.interpreters:
        yield from driver(interpreter, cards.states)


def _silent(patient: Patient) -> Diagnosis:
    unknown = "what slows the cards and who uses them" if patient.gpus else "cards, their state, driver and users"
    return Diagnosis(
        "nvidia_smi_silent",
        "note" if _no_arm_needs_one(patient) else "problem",
        "GPU",
        f"nvidia-smi gave no answer within {PATIENCE_S:.0f} s: {unknown} are not known",
        why="the driver or a card hangs, and a server that asks for it then hangs, too; or, with persistence mode off, "
        "the driver takes that long to wake many cards",
        fix="run `nvidia-smi` by itself; if it hangs, look for Xid in `dmesg`, reset the card or restart the machine",
    )


def _no_arm_needs_one(patient: Patient) -> bool:
    return patient.study is not None and not any(needs_gpu(arm, patient) for arm in patient.study.arms.values())


def _no_gpu(patient: Patient) -> Diagnosis:
    if (told := patient.cards.trouble) is not None:
        return _driver_trouble(told, unneeded=_no_arm_needs_one(patient))
    if _no_arm_needs_one(patient):
        return good("no_gpu", "GPU", "no NVIDIA card is seen here, and no arm of the study needs one")
    return Diagnosis(
        "no_gpu",
        "note" if patient.study is None else "problem",
        "GPU",
        "no NVIDIA card is seen here",
        why="there is none, the driver is not loaded, or the container was started without --gpus all",
        fix="`nvidia-smi` must list it; without a card use the embedded engine, or `whichbits predict`",
    )


def _driver_trouble(told: str, *, unneeded: bool) -> Diagnosis:
    return Diagnosis(
        "nvidia_smi_failed",
        "note" if unneeded else "problem",
        "GPU",
        f"nvidia-smi is here and {told}",
        why="the driver was updated without a restart, its module is not loaded, a card fell off the bus, or the "
        "container has another driver's libraries",
        fix="look for NVRM and Xid in `dmesg`, reload the driver or restart the machine, until `nvidia-smi` lists its "
        "cards",
    )


def needs_gpu(arm: Arm, patient: Patient) -> bool:
    """Return whether the arm's servers are started here and would compute on a card."""
    if arm.engine != "vllm" or arm.target is not None:
        return False
    interpreter = patient.interpreter_of(arm)
    return interpreter is None or not interpreter.on_cpu


def look_at(state: GpuState, users: list[GpuUser]) -> Iterator[Diagnosis]:
    """Say what is the matter with one card."""
    subject = f"GPU {state.index}"
    found = [
        *_occupied(subject, state, users),
        *_capped(subject, state),
        *_slowed(subject, state),
        *_slow_now(subject, state),
        *_closed(subject, state),
        *_split(subject, state),
        *_forgetful(subject, state),
    ]
    memory = "" if state.memory_total is None else f", {state.memory_total / 1024:.0f} GiB"
    yield from found or [good("gpu", subject, f"{state.name}{memory}, driver {state.driver}, free and at full power")]


def _occupied(subject: str, state: GpuState, users: list[GpuUser]) -> Iterator[Diagnosis]:
    is_taken = state.memory_used is not None and state.memory_used >= _FREE_MIB
    is_busy = state.utilisation is not None and state.utilisation >= _BUSY_PERCENT
    if not (is_taken or is_busy or users):
        return
    used = _UNKNOWN if state.memory_used is None else f"{state.memory_used / 1024:.1f}"
    busy = _UNKNOWN if state.utilisation is None else f"{state.utilisation:.0f}"
    who = ", ".join(f"{user.name} (pid {user.pid})" for user in users) or "processes that the driver does not show here"
    yield Diagnosis(
        "gpu_occupied",
        "problem" if users and is_taken else "note",
        subject,
        f"{used} GiB are taken, {busy} % busy: {who}",
        why="vLLM takes its share of the whole memory and dies if that is not free; kernels of others cost time",
        fix="end them, or choose another card with the arm's `gpus`",
    )


def _capped(subject: str, state: GpuState) -> Iterator[Diagnosis]:
    limit, default = state.power_limit, state.power_default
    if limit is not None and default is not None and limit < _BELOW * default:
        yield Diagnosis(
            "gpu_power_capped",
            "note",
            subject,
            f"limited to {limit:.0f} W of {default:.0f}",
            why="arithmetic slows at the limit and memory does not, which moves crossings to lower loads",
            fix=f"nvidia-smi -i {state.index} -pl {default:.0f}, or say so beside the result",
        )


def _slowed(subject: str, state: GpuState) -> Iterator[Diagnosis]:
    clock, default = state.clock_set, state.clock_default
    if clock is not None and default is not None and clock < _BELOW * default:
        yield Diagnosis(
            "gpu_clock_lowered",
            "note",
            subject,
            f"application clock {clock:.0f} MHz, {default:.0f} by default",
            why="somebody set it (nvidia-smi -ac), or a scheduler did",
            fix=f"nvidia-smi -i {state.index} -rac",
        )


def _slow_now(subject: str, state: GpuState) -> Iterator[Diagnosis]:
    if state.slowed_by:
        yield Diagnosis(
            "gpu_slowed_now",
            "note",
            subject,
            f"its clocks are held down at this moment: {', '.join(state.slowed_by)}",
            why="it is hot, short of power, or somebody works it hard; what is measured meanwhile tells of that",
            fix="look at cooling and at who uses it (nvidia-smi -q -d PERFORMANCE,TEMPERATURE), and wait",
        )


def _closed(subject: str, state: GpuState) -> Iterator[Diagnosis]:
    if state.compute_mode in ("Prohibited", "Exclusive_Process", "Exclusive_Thread"):
        alone = state.compute_mode != "Prohibited"
        yield Diagnosis(
            "gpu_compute_mode",
            "note" if alone else "problem",
            subject,
            f"compute mode {state.compute_mode}: " + ("one process at a time" if alone else "no process may compute"),
            why="somebody set it (nvidia-smi -c); replicas and arms that share a card are turned away",
            fix=f"nvidia-smi -i {state.index} -c DEFAULT",
        )


def _forgetful(subject: str, state: GpuState) -> Iterator[Diagnosis]:
    if state.persistent is False:
        yield Diagnosis(
            "gpu_not_persistent",
            "note",
            subject,
            "persistence mode is off",
            why="the driver lets go of a card that nobody uses: each start takes seconds more, and set clocks are lost",
            fix=f"nvidia-smi -i {state.index} -pm 1, or start nvidia-persistenced",
        )


def _split(subject: str, state: GpuState) -> Iterator[Diagnosis]:
    if state.mig:
        yield Diagnosis(
            "gpu_mig",
            "note",
            subject,
            "MIG is on: a server sees a slice of the card",
            why="memory, bandwidth and arithmetic of a slice are parts of the card's",
            fix="rooflines and predictions are for whole cards: read them with that in mind",
        )


def driver(interpreter: Interpreter, states: Sequence[GpuState]) -> Iterator[Diagnosis]:
    """Hold the driver against the CUDA that an interpreter's torch was built for."""
    torch = interpreter.distributions.get("torch")
    cuda = None if torch is None else torch.cuda_version
    needed = None if cuda is None else oldest_driver(cuda)
    if needed is None or not states:
        return
    try:
        has = Version(states[0].driver)
    except InvalidVersion:
        return
    if has >= needed:
        yield good("driver", "driver", f"{has} runs CUDA {cuda}")
        return
    yield Diagnosis(
        "driver_old",
        "problem",
        "driver",
        f"{has}, and torch {torch.version if torch else ''} is built for CUDA {cuda}, which needs {needed}",
        why="torch then reports that no GPU is available, or that the driver is too old",
        fix="update the driver, or install vLLM and torch for an older CUDA",
    )
