"""What connects the GPUs of one host, by device: NVLink or its like where the board has it, else PCI Express."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Kind = Literal["nvlink", "pcie"]


@dataclass(frozen=True)
class Link:
    """A GPU's way to its neighbours: GB/s in one direction as the data sheet gives them."""

    kind: Kind
    gb_s: float


_NVLINK: Mapping[str, float] = {
    "A100 40GB SXM": 300,
    "A100 80GB SXM": 300,
    "H100 SXM": 450,
    "H200": 450,
    "B200": 900,
    "MI300X": 448,
}
"""Half of the two-way figure of the data sheets: NVIDIA's NVLink, and AMD's seven links of Infinity Fabric."""
_PCIE: Mapping[str, float] = {
    "T4": 16,
    "H100 PCIe": 64,
    "RTX 5090": 64,
    "RTX PRO 6000": 64,
    "RTX PRO 6000 Server": 64,
}
"""Sixteen lanes of the third and the fifth generation; other boards have the fourth. Bridges are not assumed."""
_FOURTH_GENERATION = 32.0


def link_of(device: str) -> Link:
    """Return the link of a device by its short name."""
    if device in _NVLINK:
        return Link("nvlink", _NVLINK[device])
    return Link("pcie", _PCIE.get(device, _FOURTH_GENERATION))
