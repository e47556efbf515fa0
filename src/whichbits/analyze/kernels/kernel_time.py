"""Where the time of a profiled window went: kinds of work, gaps between kernels, the host, the engine's steps."""

from dataclasses import dataclass

from whichbits.analyze.kernels.names import Basis, Kind


@dataclass(frozen=True)
class FamilyTime:
    """Time of one family of kernels in the window."""

    family: str
    ms: float
    share: float
    launches: int


@dataclass(frozen=True)
class KindTime:
    """Time of one kind of work; ``share`` is of the window, families are by time."""

    kind: Kind
    ms: float
    share: float
    launches: int
    families: tuple[FamilyTime, ...]


@dataclass(frozen=True)
class NameTime:
    """Time of the kernels of one name."""

    name: str
    ms: float
    share: float
    launches: int


@dataclass(frozen=True)
class Gaps:
    """Stretches in which a GPU ran nothing; ``long_ms`` is in gaps of over 50 microseconds, all are in ``ms``."""

    n: int
    ms: float
    share: float
    long_ms: float
    longest_ms: float


@dataclass(frozen=True)
class HostTime:
    """What the host spent in the CUDA runtime: launching work, and waiting for it."""

    launches: int
    launch_ms: float
    waits: int
    wait_ms: float


@dataclass(frozen=True)
class StepTime:
    """The engine's steps that carried prefill, or none: how many, how long on the GPU, and by kind, in mean ms.

    ``mean_ms`` is from a step's first mark to the end of its last kernel, gaps included.
    """

    with_prefill: bool
    n: int
    mean_ms: float
    kinds: dict[str, float]


@dataclass(frozen=True)
class KernelTime:
    """One window in numbers: means over its GPUs, or the busiest thread where there were none (basis "operations").

    The window lasts from the first kernel's start to the last one's end. ``shares`` of the kinds and of the gaps add up
    to 1 but for ``overlap_ms``, the time in which kernels of several streams ran at once.
    """

    basis: Basis
    devices: int
    device_names: tuple[str, ...]
    engine_version: str | None
    window_ms: float
    busy_ms: float
    overlap_ms: float
    kinds: tuple[KindTime, ...]
    gaps: Gaps
    host: HostTime | None
    steps: tuple[StepTime, ...] = ()
    unknown: tuple[NameTime, ...] = ()
    """Names that no row knows, by time; the first twenty."""
    cut_off: bool = False

    def kind(self, kind: Kind) -> KindTime | None:
        """Return the time of one kind; None if the window had none of it."""
        return next((each for each in self.kinds if each.kind == kind), None)
