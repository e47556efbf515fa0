"""What the kernels that vLLM names compute with. A name that is not known says nothing."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from whichbits.record.schema import Fact

_WIDE = 16


@dataclass(frozen=True)
class Widths:
    """One kernel and the kind of layer that it ran for; None is: the names do not say."""

    name: str
    layer: str
    weights: int | None
    activations: int | None
    kind: str | None

    @property
    def words(self) -> str:
        """Return what it computes with, for people."""
        kind = "" if self.kind is None else f" {self.kind}"
        weights = "narrow" if self.weights is None else f"{self.weights}-bit"
        activations = "unknown" if self.activations is None else f"{self.activations}-bit{kind}"
        return f"multiplies {weights} weights with {activations} activations"

    def may_serve(self, weights: int, activations: int, kind: str | None) -> bool:
        """Return whether nothing that is known contradicts the claim."""
        if weights >= _WIDE:
            return False
        same_weights = self.weights is None or self.weights == weights
        same_activations = self.activations is None or self.activations == activations
        same_kind = None in (self.kind, kind) or self.kind == kind
        return same_weights and same_activations and same_kind


_LAYERS = (
    (re.compile(r"W8A8Fp8|^Fp8|W8A8FP8|ModelOptFp8|FBGEMMFp8"), (8, 8, "fp8")),
    (re.compile(r"W8A8Int8"), (8, 8, "int8")),
    (re.compile(r"W4A8Fp8"), (4, 8, "fp8")),
    (re.compile(r"W4A8Int"), (4, 8, "int8")),
    (re.compile(r"WNA8Int"), (None, 8, "int8")),
    (re.compile(r"AWQ"), (4, 16, None)),
    (re.compile(r"WNA16|GPTQ|W4A16|W8A16|^mixed-precision linear$"), (None, 16, None)),
    (re.compile(r"^NVFP4 GEMM$"), (4, 4, "fp4")),
)
_WEIGHT_ONLY = re.compile(r"marlin", re.IGNORECASE)
_PAIR = re.compile(r"(?P<layer>[^:,]+): (?P<kernel>[^,]+)")


def kernel_widths(said: Mapping[str, Fact]) -> list[Widths]:
    """Return the kernels of quantised linear layers whose layers are known, from the fact ``quant_kernel_for``."""
    printed = said.get("quant_kernel_for")
    pairs = [] if printed is None else _PAIR.findall(str(printed.value))
    return [found for layer, kernel in pairs if (found := _widths(kernel.strip(), layer.strip())) is not None]


def _widths(kernel: str, layer: str) -> Widths | None:
    for pattern, (weights, activations, kind) in _LAYERS:
        if pattern.search(layer):
            # Marlin unpacks weights in front of 16-bit arithmetic, whatever the layer is called.
            wide = _WEIGHT_ONLY.search(kernel) is not None
            return Widths(kernel, layer, weights, _WIDE if wide else activations, None if wide else kind)
    return None
