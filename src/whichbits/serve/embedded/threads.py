"""How many threads OpenVINO computes with: its answer, since cores, affinity and containers all have a say."""

import numpy as np
import openvino
from openvino import opset13


def computing_threads(wanted: int | None) -> int:
    """Return the threads that a model compiled here gets if ``wanted`` are asked for; None leaves it to OpenVINO."""
    asked = {} if wanted is None else {"INFERENCE_NUM_THREADS": str(wanted)}
    compiled = openvino.Core().compile_model(_smallest_model(), "CPU", asked)
    return int(compiled.get_property("INFERENCE_NUM_THREADS"))


def _smallest_model() -> openvino.Model:
    values = opset13.parameter([1], openvino.Type.f32)
    return openvino.Model([opset13.add(values, opset13.constant(np.ones(1, np.float32)))], [values], "threads")
