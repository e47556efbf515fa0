"""How long ``whichbits --help`` takes in a new process: the best and the median of some, and processor time.

The best is what a quiet machine gives; 0.2 s is the promise.
"""

import argparse
import resource
import statistics
import subprocess
import sys
import time

COMMANDS = {"python -c pass": ["-c", "pass"], "whichbits --help": ["-m", "whichbits", "--help"]}


def measured(arguments: list[str]) -> tuple[float, float]:
    """Return the seconds of one process: by the clock, and of processor time."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    took, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    return took, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Print one line a command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=20)
    times = parser.parse_args().times
    print(f"{'command':<18} {'best s':>7} {'median s':>9} {'cpu s':>7}")
    for name, arguments in COMMANDS.items():
        taken = [measured(arguments) for _ in range(times)]
        clock, processor = zip(*taken, strict=True)
        print(f"{name:<18} {min(clock):7.3f} {statistics.median(clock):9.3f} {statistics.median(processor):7.3f}")


if __name__ == "__main__":
    main()
