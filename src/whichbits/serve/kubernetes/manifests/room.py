"""What an arm's container asks of its node besides GPUs: cores, memory and disk, by the bits of its weights."""

import re

from whichbits.study.arm import WeightFormat

SHARED_MEMORY_GIB = 2
"""For each GPU: ranks of one server pass tensors through it, and a container's default is 64 MiB."""
_WIDEST_USUAL = 16
_CORES = 4
"""For each GPU: a worker that must not wait, the front end, tokenising."""
_MEMORY_GIB, _MEMORY_GIB_A_BIT = 8, 1
_DISK_GIB, _DISK_GIB_A_BIT = 32, 2
"""The second for each GPU: 16 bits ask for 32 GiB, the weights of a 16B model. The image is within the first."""


def requests(weight_format: WeightFormat, gpus: int) -> dict[str, str]:
    """Return requests of ``cpu``, ``memory`` (shared memory included) and ``ephemeral-storage``; they are no limits."""
    bits = bits_of(weight_format)
    return {
        "cpu": str(_CORES * gpus),
        "memory": f"{_MEMORY_GIB + gpus * (_MEMORY_GIB_A_BIT * bits + SHARED_MEMORY_GIB)}Gi",
        "ephemeral-storage": f"{_DISK_GIB + gpus * _DISK_GIB_A_BIT * bits}Gi",
    }


def bits_of(weight_format: WeightFormat) -> int:
    """Return the bits of a weight: the first number of the format's name; of an unknown format the widest usual one."""
    found = re.search(r"\d+", weight_format)
    return _WIDEST_USUAL if found is None else int(found[0])
