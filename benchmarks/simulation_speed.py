"""How many requests a second of one core the simulated engine serves: chat traffic, 64 at once.

    python benchmarks/simulation_speed.py [REQUESTS]

Prints processor time, which other work on the machine does not lengthen as it does wall time.
"""

import sys
import time

from whichbits.predict.cell import fleet_of
from whichbits.predict.constants import default_constants
from whichbits.predict.deployment.deployment import Deployment
from whichbits.predict.simulation.simulate import play
from whichbits.predict.simulation.workload import Workload
from whichbits.study.arm import Arm
from whichbits.traffic.draws import Draws
from whichbits.traffic.lengths import log_normal_lengths

_ROUNDS = 3


def chat(count: int) -> Workload:
    draws = Draws(0, "speed")
    prompt = log_normal_lengths(draws, count, 218, 1.0, 1744).tolist()
    output = log_normal_lengths(draws, count, 220, 0.8, 880).tolist()
    return Workload(range(count), prompt, output, [-1] * count, 0, None)


def seconds(count: int) -> float:
    arm = Arm(weight_format="w8a8-fp8", model="qwen2.5-7b")
    fleet = fleet_of(Deployment.of(arm, "L40S", "0.25.1"), default_constants())
    work = chat(count)
    took = []
    for _ in range(_ROUNDS):
        began = time.process_time()
        play(fleet, work, 64)
        took.append(time.process_time() - began)
    return min(took)


if __name__ == "__main__":
    asked = int(sys.argv[1]) if len(sys.argv) > 1 else 30_000
    print(f"{asked / seconds(asked):,.0f} requests/s of one core, best of {_ROUNDS}")
