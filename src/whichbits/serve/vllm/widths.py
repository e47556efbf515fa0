"""What the kernels that vLLM names compute with. A name that is not known says nothing."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

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
    (re.compile(r"WNA16|AWQ|GPTQ|W4A16|W8A16|^mixed-precision linear$"), (None, 16, None)),
    (re.compile(r"^NVFP4 GEMM$"), (4, 4, "fp4")),
)
_WEIGHT_ONLY = re.compile(r"marlin|W\dA16", re.IGNORECASE)
_MIXED_MARLIN = "MarlinLinearKernel"
_NARROW_ACTIVATIONS = re.compile(r"W(?:4|N)A8")
_PAIR = re.compile(r"(?P<layer>[^:,]+): (?P<kernel>[^,]+)")


def kernel_widths(said: Mapping[str, Fact], marlin_input: str | None = None) -> list[Widths]:
    """Return the kernels of quantised linear layers whose layers are known, from the fact ``quant_kernel_for``.

    ``marlin_input`` is the server's VLLM_MARLIN_INPUT_DTYPE.
    """
    printed = said.get("quant_kernel_for")
    pairs = [] if printed is None else _PAIR.findall(str(printed.value))
    found = (_widths(kernel.strip(), layer.strip()) for layer, kernel in pairs)
    return [_with_input(widths, marlin_input, said) for widths in found if widths is not None]


def _widths(kernel: str, layer: str) -> Widths | None:
    for pattern, (weights, activations, kind) in _LAYERS:
        if pattern.search(layer):
            # Marlin unpacks weights in front of 16-bit arithmetic, whatever the layer is called; some kernels say so.
            wide = _WEIGHT_ONLY.search(kernel) is not None
            return Widths(kernel, layer, weights, _WIDE if wide else activations, None if wide else kind)
    return None


def _with_input(widths: Widths, marlin_input: str | None, said: Mapping[str, Fact]) -> Widths:
    """Return what Marlin's mixed kernel multiplies with: 8 bits, if its server was asked for them.

    AutoRound's layers do not hear the wish (vLLM issue 48904), and of layers that ask for 8 bits themselves some
    versions run 16 (vLLM pull request 38066): there the name says nothing.
    """
    if widths.name != _MIXED_MARLIN:
        return widths
    if _NARROW_ACTIVATIONS.search(widths.layer) or (marlin_input is not None and _is_autoround(said)):
        return replace(widths, activations=None)
    return widths if marlin_input is None else replace(widths, activations=8, kind=marlin_input)


def _is_autoround(said: Mapping[str, Fact]) -> bool:
    method = said.get("quantization")
    return method is None or str(method.value) in ("inc", "auto-round", "auto_round")
