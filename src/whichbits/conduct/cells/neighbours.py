"""What else used this machine while a cell ran: processor time that neither whichbits nor its servers spent."""

import time
from contextlib import suppress
from dataclasses import dataclass

import psutil


@dataclass(frozen=True)
class CpuTimes:
    """Seconds up to one moment: of the clock, of all cores together, and of our processes."""

    clock_s: float
    machine_s: float
    own_s: float


def cpu_times() -> CpuTimes:
    """Read the counters; what a hypervisor took away counts as the machine's, not as ours."""
    machine = psutil.cpu_times()
    idle_s = machine.idle + getattr(machine, "iowait", 0.0)
    # Linux counts a guest's time in user's already.
    counted_twice_s = getattr(machine, "guest", 0.0) + getattr(machine, "guest_nice", 0.0)
    return CpuTimes(time.monotonic(), sum(machine) - idle_s - counted_twice_s, _own_seconds())


def other_cores(before: CpuTimes, after: CpuTimes) -> float | None:
    """Return how many cores others kept busy on average between two moments; None if no time passed."""
    clock_s = after.clock_s - before.clock_s
    if clock_s <= 0:
        return None
    others_s = (after.machine_s - before.machine_s) - (after.own_s - before.own_s)
    return max(0.0, others_s / clock_s)


def _own_seconds() -> float:
    """Return the processor time of this process and of all that it started and that still runs."""
    own = psutil.Process()
    total = 0.0
    for process in (own, *own.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            total += times.user + times.system
    return total
