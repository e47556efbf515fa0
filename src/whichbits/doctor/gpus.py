"""Whether the cards are free, whole, at full power, and driven by a new enough driver."""

from collections.abc import Iterator

from packaging.version import InvalidVersion, Version

from whichbits.doctor.diagnosis import Diagnosis, Patient, good
from whichbits.doctor.interpreter import Interpreter
from whichbits.doctor.releases import oldest_driver
from whichbits.hardware.gpu_states import GpuState, GpuUser, gpu_states, gpu_users

_FREE_MIB = 1024
_BELOW = 0.99
_BUSY_PERCENT = 5


def check_gpus(patient: Patient) -> Iterator[Diagnosis]:
    """Look at every card of this machine."""
    states, users = gpu_states(), gpu_users()
    if not states:
        yield _no_gpu(patient)
    for state in states:
        yield from look_at(state, [user for user in users if user.uuid == state.uuid])
    for interpreter in patient.interpreters:
        yield from driver(interpreter, states)


def _no_gpu(patient: Patient) -> Diagnosis:
    arms = {} if patient.study is None else patient.study.arms
    wanted = [name for name, arm in arms.items() if arm.engine == "vllm" and arm.target is None]
    for_gpus = any(not interpreter.on_cpu for interpreter in patient.interpreters if interpreter.engine is not None)
    return Diagnosis(
        "no_gpu",
        "problem" if wanted and for_gpus else "note",
        "GPU",
        "no NVIDIA card is seen here",
        why="there is none, the driver is not loaded, or the container was started without --gpus all",
        fix="`nvidia-smi` must list it; without a card use the embedded engine, or `whichbits predict`",
    )


def look_at(state: GpuState, users: list[GpuUser]) -> Iterator[Diagnosis]:
    """Say what is the matter with one card."""
    subject = f"GPU {state.index}"
    found = [
        *_occupied(subject, state, users),
        *_capped(subject, state),
        *_slowed(subject, state),
        *_split(subject, state),
    ]
    memory = "" if state.memory_total is None else f", {state.memory_total / 1024:.0f} GiB"
    yield from found or [good("gpu", subject, f"{state.name}{memory}, driver {state.driver}, free and at full power")]


def _occupied(subject: str, state: GpuState, users: list[GpuUser]) -> Iterator[Diagnosis]:
    used, busy = state.memory_used or 0, state.utilisation or 0
    if used < _FREE_MIB and busy < _BUSY_PERCENT and not users:
        return
    who = ", ".join(f"{user.name} (pid {user.pid})" for user in users) or "processes that the driver does not show here"
    yield Diagnosis(
        "gpu_occupied",
        "problem" if users and used >= _FREE_MIB else "note",
        subject,
        f"{used / 1024:.1f} GiB are taken, {busy:.0f} % busy: {who}",
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


def driver(interpreter: Interpreter, states: list[GpuState]) -> Iterator[Diagnosis]:
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
