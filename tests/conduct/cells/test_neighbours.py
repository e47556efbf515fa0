"""Processor time is told apart: ours, and that of whatever else runs on the machine."""

import subprocess
import sys

from whichbits.conduct.cells.neighbours import CpuTimes, cpu_times, other_cores

BUSY = "import time\nend = time.process_time() + 0.5\nwhile time.process_time() < end: pass\ninput()"


def test_what_neither_we_nor_our_servers_used_is_others() -> None:
    assert other_cores(CpuTimes(0.0, 100.0, 5.0), CpuTimes(10.0, 116.0, 15.0)) == 0.6


def test_no_time_no_answer_and_never_below_nothing() -> None:
    now = CpuTimes(1.0, 1.0, 1.0)

    assert other_cores(now, now) is None
    assert other_cores(CpuTimes(0.0, 0.0, 0.0), CpuTimes(1.0, 0.5, 0.9)) == 0.0


def test_a_child_at_work_counts_as_ours() -> None:
    before = cpu_times()
    child = subprocess.Popen([sys.executable, "-c", BUSY + "; print('')"], stdin=subprocess.PIPE)
    try:
        while cpu_times().own_s - before.own_s < 0.5:
            assert child.poll() is None
    finally:
        child.communicate(b"\n")

    assert cpu_times().machine_s - before.machine_s > 0.3
