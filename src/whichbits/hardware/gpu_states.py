"""What NVIDIA cards are doing and may do now, as nvidia-smi tells it, before anything of ours runs on them."""

import math
from dataclasses import dataclass

from whichbits.hardware.nvidia_smi import PATIENCE_S, NvidiaSmi

_FIELDS = (
    "index",
    "name",
    "uuid",
    "driver_version",
    "compute_cap",
    "memory.total",
    "memory.used",
    "power.limit",
    "power.default_limit",
    "clocks.max.sm",
    "clocks.applications.graphics",
    "clocks.default_applications.graphics",
    "mig.mode.current",
    "utilization.gpu",
    "memory.free",
    "persistence_mode",
    "compute_mode",
)
_SLOWED = ("hw_thermal_slowdown", "hw_power_brake_slowdown", "sw_thermal_slowdown", "sw_power_cap")
_SLOWED_GROUPS = ("clocks_event_reasons", "clocks_throttle_reasons")
"""The first is the name since driver 535, and an unknown field spoils a whole query."""


@dataclass(frozen=True)
class GpuState:
    """One card. Memory in MiB, power in W, clocks in MHz, utilisation in percent; None where it is not told."""

    index: int
    name: str
    uuid: str
    driver: str
    capability: str | None
    memory_total: float | None
    memory_used: float | None
    power_limit: float | None
    power_default: float | None
    clock_highest: float | None
    clock_set: float | None
    clock_default: float | None
    mig: bool
    utilisation: float | None
    memory_free: float | None = None
    """What a new process may take; with ``memory_used`` it makes what CUDA calls the total, less than nvidia-smi's."""
    persistent: bool | None = None
    compute_mode: str | None = None
    slowed_by: tuple[str, ...] = ()
    """Why clocks are below what was asked for at this moment, in nvidia-smi's words."""


@dataclass(frozen=True)
class GpuUser:
    """A process that holds memory on a card; MiB, None where the driver does not say."""

    uuid: str
    pid: str
    name: str
    memory: float | None


@dataclass(frozen=True)
class Cards:
    """The cards and who uses them, as nvidia-smi told it at one moment.

    ``silent``: it hung, so that what is missing is not known. Where there are states, only the reasons that slow the
    cards and their users are. ``trouble``: what it says or does where it is installed, does not hang and tells of no
    card, unless that is calmly that there is none.
    """

    states: tuple[GpuState, ...] = ()
    users: tuple[GpuUser, ...] = ()
    silent: bool = False
    trouble: str | None = None


def look_at_cards(patience_s: float = PATIENCE_S) -> Cards:
    """Ask for all cards and their users, within ``patience_s`` together."""
    smi = NvidiaSmi(patience_s)
    states, users = tuple(gpu_states(smi)), tuple(gpu_users(smi))
    trouble = None if states or smi.silent else smi.trouble()
    return Cards(states, users, smi.silent, trouble)


def gpu_states(smi: NvidiaSmi) -> list[GpuState]:
    """Return one state a card; empty where there is no card or no driver."""
    rows = [dict(zip(_FIELDS, row, strict=True)) for row in smi.ask("gpu", _FIELDS)]
    slowed = _slowed(smi) if rows else {}
    return [_state(row, slowed.get(row["uuid"], ())) for row in rows]


def _slowed(smi: NvidiaSmi) -> dict[str, tuple[str, ...]]:
    """Return by card which reasons lower its clocks now."""
    for group in _SLOWED_GROUPS:
        rows = smi.ask("gpu", ("uuid", *(f"{group}.{name}" for name in _SLOWED)))
        if rows:
            return {uuid: _active(cells) for uuid, *cells in rows}
    return {}


def _active(cells: list[str]) -> tuple[str, ...]:
    return tuple(name for name, cell in zip(_SLOWED, cells, strict=False) if cell == "Active")


def gpu_users(smi: NvidiaSmi) -> list[GpuUser]:
    """Return the processes on all cards; inside a container the driver hides those of others."""
    rows = smi.ask("compute-apps", ("gpu_uuid", "pid", "process_name", "used_memory"))
    return [GpuUser(uuid, pid, name, _number(memory)) for uuid, pid, name, memory in rows]


def _state(row: dict[str, str], slowed_by: tuple[str, ...]) -> GpuState:
    return GpuState(
        index=int(row["index"]),
        name=row["name"],
        uuid=row["uuid"],
        driver=row["driver_version"],
        capability=row["compute_cap"] if _number(row["compute_cap"]) is not None else None,
        memory_total=_number(row["memory.total"]),
        memory_used=_number(row["memory.used"]),
        power_limit=_number(row["power.limit"]),
        power_default=_number(row["power.default_limit"]),
        clock_highest=_number(row["clocks.max.sm"]),
        clock_set=_number(row["clocks.applications.graphics"]),
        clock_default=_number(row["clocks.default_applications.graphics"]),
        mig=row["mig.mode.current"] == "Enabled",
        utilisation=_number(row["utilization.gpu"]),
        memory_free=_number(row["memory.free"]),
        persistent={"Enabled": True, "Disabled": False}.get(row["persistence_mode"]),
        compute_mode=None if row["compute_mode"].startswith("[") else row["compute_mode"],
        slowed_by=slowed_by,
    )


def _number(cell: str) -> float | None:
    try:
        found = float(cell)
    except ValueError:  # "[N/A]", "[Not Supported]"
        return None
    return found if math.isfinite(found) else None
