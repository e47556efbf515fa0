"""The commands of the pages that the tests of the pages do not run, each with the reason and with what proves it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Elsewhere:
    """Why a command is not run here, and the file that shows as much as can be shown of it without."""

    needs: str
    shown_by: str


_GPU = Elsewhere("a GPU, vLLM and the weights", "tests/e2e/test_study.py")
_CLUSTER = Elsewhere("a Kubernetes cluster with GPUs", "tests/e2e/test_kubernetes.py")
_SERVICE = Elsewhere("a library and a server that are not here", "tests/report/destinations/test_experiments.py")

ELSEWHERE = {
    "run studies/quickstart.yaml": Elsewhere("minutes of the embedded engine: CI runs it as `make demo`", ".ci/run"),
    "run studies/seed-l4.yaml": _GPU,
    "run studies/a100-two-replicas.yaml": _CLUSTER,
    "arms MODEL --formats w4a16,w8a8-fp8 --with llm-compressor --python /opt/llmc/bin/python --calibration texts.txt": (
        Elsewhere("llm-compressor and torch", "tests/arms/llm_compressor/test_launch.py")
    ),
    "export runs/2026-11-29T1404-mine --to mlflow --endpoint http://localhost:5000 --project serving": _SERVICE,
    "export runs/2026-11-29T1404-mine --to wandb --project serving": _SERVICE,
}
"""By what follows ``whichbits``."""
