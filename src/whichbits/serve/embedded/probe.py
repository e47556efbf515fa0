"""Does activation quantisation take effect here? One layer of the arm's own weights, computed both ways.

``DYNAMIC_QUANTIZATION_GROUP_SIZE`` is a wish: OpenVINO grants it only where the CPU has dot products of bytes
(VNNI) and the activations are 32-bit, and says nothing where it does not. A result that stays the same to the
last bit shows that nothing was quantised.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import openvino
from openvino import opset13

_THROUGH = frozenset({"Convert", "Multiply", "Subtract", "Reshape"})


@dataclass(frozen=True)
class Probe:
    """What one layer shows; None where the model has no layer that can be cut out."""

    weights: str | None
    activation_quantization_effective: bool | None
    kernel: str | None


def probe_linear_layer(folder: Path, properties: dict[str, str]) -> Probe:
    """Compile the smallest linear layer of the model in ``folder`` with ``properties``; compute it once."""
    core = openvino.Core()
    layer = _smallest_linear(core.read_model(folder / "openvino_model.xml"))
    if layer is None:
        return Probe(None, None, None)
    weights = _weights_type(layer)
    model = _alone(layer)
    quantised = core.compile_model(model, "CPU", properties)
    plain = core.compile_model(model, "CPU", properties | {"DYNAMIC_QUANTIZATION_GROUP_SIZE": "0"})
    rows = np.random.default_rng(0).standard_normal((16, model.inputs[0].partial_shape[1].get_length()))
    activations = rows.astype(np.float32)
    effective = not np.array_equal(quantised(activations)[0], plain(activations)[0])
    # Only an LLM's graph may keep 16-bit weights packed, so one layer alone does not show that kernel.
    kernel = None if weights in ("f16", "f32", "bf16") else _kernel(quantised)
    return Probe(weights, effective, kernel)


def _smallest_linear(model: Any) -> Any:
    linear = [node for node in model.get_ordered_ops() if node.get_type_name() == "MatMul" and _constant(node)]
    return min(linear, key=lambda node: np.prod(list(node.input_value(1).get_shape())), default=None)


def _constant(matmul: Any) -> Any:
    """Follow a matrix product's second input to its weights; None if they are not constant."""
    node = matmul.input_value(1).get_node()
    while node.get_type_name() in _THROUGH:
        node = node.input_value(0).get_node()
    return node if node.get_type_name() == "Constant" else None


def _weights_type(matmul: Any) -> str:
    return str(_constant(matmul).get_element_type().to_string())


def _alone(matmul: Any) -> Any:
    transposed = bool(matmul.get_attributes()["transpose_b"])
    weights = matmul.input_value(1)
    columns = list(weights.get_shape())[1 if transposed else 0]
    activations = opset13.parameter([-1, columns], openvino.Type.f32)
    return openvino.Model([opset13.matmul(activations, weights, False, transposed)], [activations], "probe")


def _kernel(compiled: Any) -> str | None:
    for node in compiled.get_runtime_model().get_ops():
        details = node.get_rt_info()
        if str(details["layerType"].value) == "FullyConnected":
            return str(details["primitiveType"].value)
    return None
